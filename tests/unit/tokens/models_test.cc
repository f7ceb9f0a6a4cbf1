// SPDX-License-Identifier: Apache-2.0
// The model table: decorated names, betas, and the user's own entries.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/base/file.h"
#include "core/tokens/retirement.h"
#include "core/tokens/tokens.h"

namespace agentd {
namespace {

constexpr std::uint64_t k1M = 1'000'000;
constexpr const char* kWide = "context-1m-2025-08-07";

std::string pattern_of(std::string_view name) { return ModelTable::embedded().find(name).pattern; }

// The table under this valid YAML.
ModelTable overlaid(std::string_view yaml) {
  ModelTable table = ModelTable::embedded();
  const auto done = table.overlay(yaml, "models.yaml");
  EXPECT_TRUE(done) << (done ? "" : done.error().message);
  return table;
}

std::string refusal(std::string_view yaml) {
  ModelTable table = ModelTable::embedded();
  const auto done = table.overlay(yaml, "models.yaml");
  EXPECT_EQ(table.models().size(), ModelTable::embedded().models().size());
  if (done) return "accepted";
  EXPECT_EQ(done.error().code, Code::kInvalid);
  return done.error().message;
}

TEST(ModelNames, WhatGatewaysPutInFrontIsTakenOff) {
  EXPECT_EQ(bare_model_name("claude-sonnet-4-5"), "claude-sonnet-4-5");
  EXPECT_EQ(bare_model_name("anthropic/claude-sonnet-4.5"), "claude-sonnet-4.5");
  EXPECT_EQ(bare_model_name("models/gemini-2.5-pro"), "gemini-2.5-pro");
  EXPECT_EQ(bare_model_name("us.anthropic.claude-3-haiku-20240307-v1:0"), "claude-3-haiku-20240307-v1:0");
  EXPECT_EQ(bare_model_name("us-gov.anthropic.claude-3-haiku-20240307-v1:0"), "claude-3-haiku-20240307-v1:0");
  EXPECT_EQ(bare_model_name("arn:aws:bedrock:us-east-1:12:inference-profile/eu.anthropic.claude-opus-4-1-v1:0"),
            "claude-opus-4-1-v1:0");
  EXPECT_EQ(bare_model_name("openai:gpt-4.1"), "gpt-4.1");
  EXPECT_EQ(bare_model_name("ft:gpt-4o-mini-2024-07-18:org::id"), "gpt-4o-mini-2024-07-18:org::id");
}

TEST(ModelNames, NamesThatAreOnlyDecorationStayThemselves) {
  for (const char* const name : {"", "/", ".", ":", "a.", "models/", "..", "us.anthropic."})
    EXPECT_FALSE(bare_model_name(name).empty() && *name != '\0') << name;
  EXPECT_EQ(bare_model_name("models/"), "models/");
}

TEST(ModelTable, DecoratedNamesFindTheirModel) {
  EXPECT_EQ(pattern_of("claude-sonnet-4-5-20250929"), "claude-sonnet-4-5");
  EXPECT_EQ(pattern_of("anthropic/claude-sonnet-4.5"), "claude-sonnet-4-5");
  EXPECT_EQ(pattern_of("us.anthropic.claude-sonnet-4-5-20250929-v1:0"), "claude-sonnet-4-5");
  EXPECT_EQ(pattern_of("claude-opus-4-1@20250805"), "claude-opus-4-1");
  EXPECT_EQ(pattern_of("Claude-Haiku-4-5"), "claude-haiku-4-5");
  EXPECT_EQ(pattern_of("models/gemini-2.5-flash-lite"), "gemini-2.5-flash-lite");
  EXPECT_EQ(pattern_of("anthropic/claude-opus-5.5"), "claude-opus-5-5");
  EXPECT_EQ(pattern_of("anthropic.claude-haiku-5-5"), "claude-haiku-5-5");
  EXPECT_EQ(pattern_of("openai/gpt-4o-2024-08-06"), "gpt-4o");
  EXPECT_EQ(pattern_of("gpt-5.1"), "gpt-5.1");
  EXPECT_EQ(pattern_of("o3-2025-04-16"), "o3");
}

TEST(ModelTable, ANumberOfAPatternIsNotTheBeginningOfALongerOne) {
  EXPECT_EQ(pattern_of("gpt-4-1106-preview"), "gpt-4-1106");
  EXPECT_EQ(pattern_of("gpt-4-0613"), "gpt-4");
  EXPECT_EQ(pattern_of("o30"), "");
}

// The next version may need other requests, so it is not treated as the last one.
TEST(ModelTable, ABuiltInEntryIsNotAnotherVersions) {
  const ModelTable table = ModelTable::embedded();
  for (const char* const name : {"claude-opus-5-7", "claude-opus-5.9", "us.anthropic.claude-opus-5-7-v1:0",
                                 "claude-opus-6", "claude-sonnet-4-50", "claude-fable-6-1"}) {
    EXPECT_EQ(table.find(name).pattern, "claude") << name;
    EXPECT_TRUE(table.find(name).assumed) << name;
  }
  EXPECT_EQ(pattern_of("claude-opus-5-20260724"), "claude-opus-5");
  EXPECT_EQ(pattern_of("claude-opus-4-0"), "claude-opus-4");
  EXPECT_EQ(pattern_of("gpt-4-32k"), "gpt-4");
  EXPECT_EQ(pattern_of("gpt-6.2-terra"), "gpt-");
  EXPECT_EQ(overlaid("models: [{pattern: llama3, window: 5000}]").find("llama3.1:8b").window, 5'000u);
}

TEST(ModelTable, AnUnknownNameOfAKnownProviderIsTakenForItsCurrentLine) {
  const ModelTable table = ModelTable::embedded();
  const ModelInfo info = table.find("claude-saga-7");
  EXPECT_TRUE(info.assumed);
  EXPECT_EQ(info.provider, "anthropic");
  EXPECT_EQ(info.window, k1M);
  EXPECT_EQ(info.max_output, 128'000u);
  EXPECT_EQ(info.thinking, ThinkingKind::kAlways);
  EXPECT_FALSE(table.find("claude-sonnet-5-5").assumed);
  EXPECT_FALSE(overlaid("models: [{pattern: claude-saga, window: 5000}]").find("claude-saga-7").assumed);
}

TEST(ModelTable, TheCurrentLineIsKnown) {
  const ModelTable table = ModelTable::embedded();
  struct Row {
    const char* name;
    ThinkingKind thinking;
    const char *effort, *off;
  };
  for (const Row& row : {Row{"claude-fable-5-1", ThinkingKind::kAlways, "high", ""},
                         Row{"claude-opus-5-5", ThinkingKind::kAlways, "medium", ""},
                         Row{"claude-sonnet-5-5", ThinkingKind::kAdaptive, "high", "between_tools"},
                         Row{"claude-haiku-5-5", ThinkingKind::kAdaptive, "medium", "disabled"}}) {
    const ModelInfo info = table.find(row.name);
    EXPECT_EQ(info.window, k1M) << row.name;
    EXPECT_EQ(info.max_output, 128'000u) << row.name;
    EXPECT_EQ(info.thinking, row.thinking) << row.name;
    EXPECT_EQ(info.default_effort, row.effort) << row.name;
    EXPECT_EQ(info.thinking_off, row.off) << row.name;
    EXPECT_EQ(info.efforts.size(), 5u) << row.name;
    EXPECT_FALSE(info.sampling) << row.name;
    EXPECT_EQ(info.summary_model, "claude-haiku-5-5") << row.name;
  }
}

// ---- dates

TEST(ModelDates, DaysAreCountedFromTheDayOfTheWallTime) {
  ModelInfo model;
  EXPECT_EQ(days_until_retired(model, 0), std::nullopt);
  model.retires = "1970-03-01";
  constexpr std::int64_t kDay = 86'400'000;
  EXPECT_EQ(days_until_retired(model, 0), 59);
  EXPECT_EQ(days_until_retired(model, kDay - 1), 59);
  EXPECT_EQ(days_until_retired(model, 59 * kDay), 0);
  EXPECT_EQ(days_until_retired(model, 60 * kDay), -1);
  EXPECT_EQ(days_until_retired(model, -1), 60);
}

TEST(ModelDates, AModelRetiresWhenItsDayBegins) {
  ModelInfo model;
  EXPECT_FALSE(is_retired(model, 0));
  model.retires = "1970-03-01";
  constexpr std::int64_t kDay = 86'400'000;
  EXPECT_FALSE(is_retired(model, 59 * kDay - 1));
  EXPECT_TRUE(is_retired(model, 59 * kDay));
  EXPECT_TRUE(is_retired(model, 1'000 * kDay));
}

// Without a release, and for all that is chosen without the user.
TEST(ModelDates, ASuccessorIsChosenFromTheDayOn) {
  constexpr std::int64_t kDay = 86'400'000;
  auto table = ModelTable::parse(R"({"defaults": {"v": "old", "lost": "last"}, "models": [
    {"pattern": "old", "window": 1, "summary_model": "old-mini", "retires": "1970-01-11", "successor": "new"},
    {"pattern": "old-mini", "window": 1, "retires": "1970-01-21", "successor": "new"},
    {"pattern": "new", "window": 1, "retires": "1970-01-31", "successor": "newest"},
    {"pattern": "newest", "window": 1},
    {"pattern": "last", "window": 1, "retires": "1970-01-11"},
    {"pattern": "egg", "window": 1, "retires": "1970-01-11", "successor": "hen"},
    {"pattern": "hen", "window": 1, "retires": "1970-01-11", "successor": "egg"}]})");
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_EQ(default_in_service(*table, "v", 9 * kDay), "old");
  EXPECT_EQ(default_in_service(*table, "v", 10 * kDay), "new");
  EXPECT_EQ(default_in_service(*table, "v", 30 * kDay), "newest");
  EXPECT_EQ(default_in_service(*table, "lost", 30 * kDay), "last");
  EXPECT_EQ(default_in_service(*table, "nobody", 30 * kDay), "");
  EXPECT_EQ(summariser_in_service(*table, table->find("old"), 19 * kDay), "old-mini");
  EXPECT_EQ(summariser_in_service(*table, table->find("old"), 20 * kDay), "new");
  EXPECT_EQ(summariser_in_service(*table, table->find("newest"), 20 * kDay), "") << "the model itself";
  EXPECT_EQ(in_service(*table, "models/old", 10 * kDay), "models/new");
  EXPECT_EQ(in_service(*table, "gateway/old", 10 * kDay), "gateway/old") << "its spelling is not guessed";
  EXPECT_EQ(in_service(*table, "unknown", 10 * kDay), "unknown");
  EXPECT_FALSE(in_service(*table, "hen", 10 * kDay).empty()) << "a circle ends";
  // What the user's own table names is used, even after its last day: another cloud may serve it.
  ASSERT_TRUE(table->overlay("models: [{pattern: old, summary_model: old-mini}]", "models.yaml"));
  EXPECT_EQ(summariser_in_service(*table, table->find("old"), 20 * kDay), "old-mini");
}

TEST(ModelDates, OnlyDaysOfTheCalendarAreDates) {
  EXPECT_TRUE(is_date("2028-02-29"));
  for (const char* const text : {"abcd-01-01", "-001-01-01", "", "2027-02-29", "2027-2-9", "27-02-09", "2027-13-01",
                                 "2027-00-10", "2027/01/01", "2027-01-0x"})
    EXPECT_FALSE(is_date(text)) << text;
}

TEST(ModelTable, AnotherModelIsNotTakenForAKnownOne) {
  for (const char* const name : {"llama3", "my-claude", "gemini", "mistral/large", "x", ""})
    EXPECT_FALSE(ModelTable::embedded().knows(name)) << name;
}

TEST(ModelTable, TheDefaultIsStated) {
  const ModelTable table = ModelTable::embedded();
  const ModelInfo info = table.find("nobody-knows");
  EXPECT_EQ(info.pattern, "");
  EXPECT_EQ(info.window, 200'000u);
  EXPECT_EQ(info.max_output, 16'384u);
  EXPECT_EQ(table.otherwise().window, 200'000u);
}

TEST(ModelTable, ABetaOpensTheWindowOfTheModelsThatHaveIt) {
  ModelTable table = ModelTable::embedded();
  EXPECT_EQ(table.find("claude-sonnet-4-5").window, 200'000u);
  table.activate({"interleaved-thinking-2025-05-14", kWide});
  for (const char* const name : {"claude-sonnet-4-5", "claude-sonnet-4-20250514", "anthropic/claude-sonnet-4"}) {
    EXPECT_EQ(table.find(name).window, k1M) << name;
    EXPECT_EQ(table.find(name).base_window, 200'000u);
    EXPECT_EQ(table.find(name).beta, kWide);
  }
  for (const char* const name :
       {"claude-opus-4-1", "claude-opus-4-5", "claude-sonnet-5-5", "claude-3-7-sonnet", "gpt-5"}) {
    EXPECT_EQ(table.find(name).window, table.find(name).base_window) << name;
    EXPECT_EQ(table.find(name).beta, "");
  }
}

TEST(ModelTable, OfSeveralBetasTheWidestWindowCounts) {
  ModelTable table = overlaid("models: [{pattern: m, window: 100, betas: {small: 50, wide: 300, wider: 400}}]");
  table.activate({"small"});
  EXPECT_EQ(table.find("m").window, 100u);
  table.activate({"wide", "wider", "small"});
  EXPECT_EQ(table.find("m").window, 400u);
  EXPECT_EQ(table.find("m").beta, "wider");
}

TEST(ModelTable, AGatewaysSummariserIsNotGuessed) {
  const ModelTable table = ModelTable::embedded();
  EXPECT_EQ(table.find("claude-opus-4-5").summary_model, "claude-haiku-5-5");
  EXPECT_EQ(table.find("anthropic/claude-opus-4.5").summary_model, "");
  EXPECT_EQ(table.find("us.anthropic.claude-opus-4-5-v1:0").summary_model, "");
  EXPECT_EQ(table.find("models/gemini-2.5-pro").summary_model, "models/gemini-3.5-flash-lite");
}

// The embedded table reads one line at a time.
TEST(ModelTable, EveryEntryIsALineOfTheFile) {
  const auto json = read_file(AGENTD_MODELS_JSON, 1u << 20);
  ASSERT_TRUE(json);
  const auto whole = ModelTable::parse(*json);
  ASSERT_TRUE(whole) << whole.error().message;
  const ModelTable lines = ModelTable::embedded();
  EXPECT_EQ(lines.defaults(), whole->defaults());
  EXPECT_EQ(lines.otherwise().max_output, whole->otherwise().max_output);
  const std::vector<ModelInfo> found = lines.models(), expected = whole->models();
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].pattern, expected[i].pattern);
    EXPECT_EQ(found[i].retires, expected[i].retires) << found[i].pattern;
    EXPECT_EQ(found[i].max_output, expected[i].max_output) << found[i].pattern;
    EXPECT_EQ(found[i].successor, expected[i].successor) << found[i].pattern;
    EXPECT_EQ(found[i].prices.has_value(), expected[i].prices.has_value()) << found[i].pattern;
  }
}

TEST(ModelTable, EveryEntryIsSound) {
  const ModelTable table = ModelTable::embedded();
  for (const ModelInfo& info : table.models()) {
    EXPECT_EQ(table.find(info.pattern).pattern, info.pattern) << "another entry hides it";
    EXPECT_FALSE(info.provider.empty()) << info.pattern;
    EXPECT_GE(info.window, info.pattern == "gpt-oss" ? info.max_output : 1) << info.pattern;
    EXPECT_TRUE(info.encoding.empty() || info.encoding == "cl100k_base" || info.encoding == "o200k_base");
    EXPECT_EQ(info.encoding.empty(), info.provider != "openai") << info.pattern;
    EXPECT_TRUE(info.summary_model.empty() || table.knows(info.summary_model)) << info.summary_model;
    for (const auto& [beta, window] : info.betas) EXPECT_GT(window, info.window) << beta;
    EXPECT_EQ(info.efforts.empty(), info.default_effort.empty()) << info.pattern;
    const bool listed = std::count(info.efforts.begin(), info.efforts.end(), info.default_effort) == 1;
    EXPECT_TRUE(info.efforts.empty() || listed) << info.pattern;
    EXPECT_EQ(info.thinking_off.empty(), info.thinking != ThinkingKind::kAdaptive) << info.pattern;
    EXPECT_TRUE(info.retires.empty() || is_date(info.retires)) << info.pattern;
    EXPECT_EQ(info.retires.empty(), info.successor.empty()) << info.pattern;
    const ModelInfo next = table.find(info.successor);
    EXPECT_TRUE(info.successor.empty() || (!next.assumed && next.retires.empty())) << info.pattern;
  }
}

TEST(ModelTable, FamiliesThatWantTheirThinkingBackAreKnownUnderAnyName) {
  const ModelTable table = ModelTable::embedded();
  for (const char* const name :
       {"deepseek-v4-flash", "deepseek/deepseek-v4-pro", "deepseek-ai/DeepSeek-V4-Flash", "deepseek-v5",
        "accounts/fireworks/models/deepseek-v4", "hf.co/unsloth/DeepSeek-V4-GGUF:Q4", "us.deepseek-v4-v1:0", "kimi-k3",
        "moonshotai/Kimi-K2.6", "moonshotai.kimi-k2.5", "z-ai/glm-5", "zai-org/GLM-5.2", "MiniMaxAI/MiniMax-M3",
        "minimax/minimax-m3:free", "xiaomi/mimo-v2.5-pro"})
    EXPECT_EQ(table.find(name).thinking_back, true) << name;
  for (const char* const name : {"claude-sonnet-5-5", "gpt-6-sol", "openai/gpt-oss-120b", "qwen3-coder", "glm-55",
                                 "minimax-m2", "my-deepseek", "mistral-large"})
    EXPECT_EQ(table.find(name).thinking_back, std::nullopt) << name;
  // Nothing else is claimed to be known of them.
  EXPECT_FALSE(table.knows("deepseek-v4-flash"));
}

// ---- the user's table

TEST(ModelOverlay, WhetherThinkingGoesBackIsSaidByTheEntryElseByTheFamily) {
  const ModelTable table = overlaid(
      "models:\n"
      "  - {pattern: house, thinking_back: true}\n"
      "  - {pattern: deepseek-v4, window: 128000}\n"
      "  - {pattern: deepseek-old, thinking_back: false}\n");
  EXPECT_EQ(table.find("house-2").thinking_back, true);
  EXPECT_EQ(table.find("deepseek-v4-pro").thinking_back, true);
  EXPECT_EQ(table.find("deepseek-v4-pro").window, 128'000u);
  EXPECT_EQ(table.find("work/deepseek-old-7b").thinking_back, false);
  EXPECT_EQ(overlaid("default: {thinking_back: true}").find("nobody-knows").thinking_back, true);
  EXPECT_EQ(refusal("models: [{pattern: m, thinking_back: reasoning_content}]"),
            "models.yaml:1:23: thinking_back must be true or false, not 'reasoning_content'");
}

TEST(ModelOverlay, AnEntryChangesOnlyWhatItNames) {
  const ModelTable table = overlaid("models:\n  - pattern: claude-sonnet-4-5\n    window: 500000\n");
  const ModelInfo info = table.find("claude-sonnet-4-5-20250929");
  EXPECT_EQ(info.window, 500'000u);
  EXPECT_EQ(info.max_output, 64'000u);
  EXPECT_EQ(info.summary_model, "claude-haiku-5-5");
  EXPECT_EQ(info.betas.at(kWide), k1M);
  EXPECT_EQ(info.origin, "models.yaml:2");
  EXPECT_EQ(table.find("claude-sonnet-4").origin, "");
  EXPECT_EQ(table.models().size(), ModelTable::embedded().models().size());
}

TEST(ModelOverlay, ANewEntryTakesTheRestFromTheOneItWouldHaveFound) {
  const ModelTable table = overlaid(
      "models:\n"
      "  - {pattern: claude-sonnet-4-5-mine, max_output: 1000}\n"
      "  - {pattern: local/, window: 32768, encoding: cl100k_base}\n");
  EXPECT_EQ(table.find("claude-sonnet-4-5-mine-2").window, 200'000u);
  EXPECT_EQ(table.find("claude-sonnet-4-5-mine-2").max_output, 1'000u);
  EXPECT_EQ(table.find("claude-sonnet-4-5-mine-2").provider, "anthropic");
  EXPECT_EQ(table.find("local/llama").window, 32'768u);
  EXPECT_EQ(table.find("local/llama").max_output, 16'384u);
  EXPECT_EQ(table.find("local/llama").encoding, "cl100k_base");
  EXPECT_EQ(table.find("local/llama").provider, "");
}

TEST(ModelOverlay, AnEntryForAGatewaysNameOverridesTheBareOne) {
  const ModelTable table = overlaid("models: [{pattern: anthropic/claude, window: 90000}]");
  EXPECT_EQ(table.find("anthropic/claude-sonnet-4.5").window, 90'000u);
  EXPECT_EQ(table.find("anthropic/claude-sonnet-4.5").summary_model, "");
  EXPECT_EQ(table.find("claude-sonnet-4.5").window, 200'000u);
}

TEST(ModelOverlay, APatternInAnotherSpellingIsTheSameEntry) {
  EXPECT_EQ(overlaid("models: [{pattern: Claude-Sonnet-4.5, window: 90000}]").find("claude-sonnet-4-5").window,
            90'000u);
}

TEST(ModelOverlay, TheDefaultCanBeChanged) {
  const ModelTable table = overlaid("default: {window: 32000, max_output: 4000, summary_model: small}");
  EXPECT_EQ(table.find("nobody-knows").window, 32'000u);
  EXPECT_EQ(table.find("nobody-knows").max_output, 4'000u);
  EXPECT_EQ(table.find("nobody-knows").summary_model, "small");
  EXPECT_FALSE(table.knows("nobody-knows"));
}

TEST(ModelOverlay, AnEncodingCanBeTakenAway) {
  EXPECT_EQ(overlaid("models: [{pattern: gpt-4o, encoding: none}]").find("gpt-4o").encoding, "");
}

TEST(ModelOverlay, WhatAModelTakesCanBeSaid) {
  const ModelInfo info = overlaid(
                             "models: [{pattern: m, thinking: adaptive, efforts: [low, high], "
                             "default_effort: low, thinking_off: disabled, sampling: false, "
                             "retires: 2031-01-31, successor: n}]")
                             .find("m-1");
  EXPECT_EQ(info.thinking, ThinkingKind::kAdaptive);
  EXPECT_EQ(info.efforts, (std::vector<std::string>{"low", "high"}));
  EXPECT_EQ(info.default_effort, "low");
  EXPECT_EQ(info.thinking_off, "disabled");
  EXPECT_FALSE(info.sampling);
  EXPECT_EQ(info.retires, "2031-01-31");
  EXPECT_EQ(info.successor, "n");
  EXPECT_EQ(refusal("models: [{pattern: m, thinking: much}]"),
            "models.yaml:1:23: thinking must be one of none, budget, adaptive, always, not 'much'");
  EXPECT_EQ(refusal("models: [{pattern: m, efforts: low}]"),
            "models.yaml:1:23: efforts must be a list of words, not 'low'");
  EXPECT_EQ(refusal("models: [{pattern: m, retires: soon}]"),
            "models.yaml:1:23: retires must be a date like 2027-01-31, not 'soon'");
  EXPECT_EQ(refusal("models: [{pattern: m, sampling: maybe}]"),
            "models.yaml:1:23: sampling must be true or false, not 'maybe'");
}

TEST(ModelOverlay, LadderAndReserveAreTheModelsOwn) {
  const ModelTable table = overlaid(
      "models: [{pattern: m, window: 100000, checkpoint_at: 0.3, compact_at: 0.5, force_at: 0.6, "
      "output_reserve: 1000}]");
  const BudgetPolicy policy = BudgetPolicy{}.of(table.find("m"));
  const Gauge gauge = make_gauge(policy, 100'000, 16'384, 0, 0);
  EXPECT_EQ(gauge.limit, 99'000u);
  EXPECT_EQ(gauge.checkpoint_at, 29'700u);
  EXPECT_EQ(gauge.compact_at, 49'500u);
  EXPECT_EQ(gauge.force_at, 59'400u);
  EXPECT_EQ(BudgetPolicy{}.of(table.find("gpt-4o")).compact_at, BudgetPolicy{}.compact_at);
}

TEST(ModelOverlay, AnEmptyFileChangesNothing) {
  for (const char* const yaml : {"", "# nothing yet\n", "models:\n", "default:\nmodels: []\n"})
    EXPECT_EQ(overlaid(yaml).models().size(), ModelTable::embedded().models().size()) << yaml;
}

TEST(ModelOverlay, MistakesAreToldWithTheirPlace) {
  EXPECT_EQ(refusal("modells: []\n"), "models.yaml:1:1: unknown key 'modells': did you mean 'models'?");
  EXPECT_EQ(refusal("models:\n  - pattern: m\n    windw: 5\n"),
            "models.yaml:3:5: unknown key 'windw': did you mean 'window'?");
  EXPECT_EQ(refusal("models:\n  - pattern: m\n    window: -5\n"),
            "models.yaml:3:5: window must be a whole number from 1 (tokens), not '-5'");
  EXPECT_EQ(refusal("models:\n  - pattern: m\n    window: 0\n"),
            "models.yaml:3:5: window must be a whole number from 1 (tokens), not '0'");
  EXPECT_EQ(refusal("models:\n  - pattern: m\n    max_output: \"5\"\n"),
            "models.yaml:3:5: max_output must be a whole number from 1 (tokens), not \"5\"");
  EXPECT_EQ(refusal("models:\n  - pattern: m\n    compact_at: 80\n"),
            "models.yaml:3:5: compact_at must be a number from 0.01 to 1, not '80'");
  EXPECT_EQ(refusal("models:\n  - pattern: m\n    encoding: p50k_base\n"),
            "models.yaml:3:5: encoding must be one of cl100k_base, o200k_base, none, not 'p50k_base'");
  EXPECT_EQ(refusal("models:\n  - pattern: m\n    betas: [a]\n"),
            "models.yaml:3:5: betas must be a section of 'NAME: WINDOW' lines, not a list");
  EXPECT_EQ(refusal("models:\n  - pattern: m\n    betas:\n      b: wide\n"),
            "models.yaml:4:7: b must be a whole number from 1 (tokens), not 'wide'");
  EXPECT_EQ(refusal("models:\n  - window: 5\n"),
            "models.yaml:2:5: a model needs a 'pattern': the beginning of its name");
  EXPECT_EQ(refusal("models: {m: 5}\n"),
            "models.yaml:1:1: models must be a list of entries that begin with '- pattern: NAME', "
            "not a section");
  EXPECT_EQ(refusal("models: [m]\n"), "models.yaml:1:10: a model must be a section, not 'm'");
  EXPECT_EQ(refusal("default: {pattern: m}\n"), "models.yaml:1:11: unknown key 'pattern'");
  EXPECT_EQ(refusal("- m\n"), "models.yaml:1:1: a model table must be a section of 'key: value' lines, not a list");
  EXPECT_EQ(refusal("models:\n  - {pattern: m, compact_at: 0.9, force_at: 0.8}\n"),
            "models.yaml:2:5: force_at is below compact_at: raise it, or lower compact_at");
}

TEST(ModelOverlay, NumbersThatAreNoneAreRefused) {
  for (const char* const value :
       {"1e5", "5.5", "99999999999999999999999", "1000000000001", "0x10", "nan", "true", "[]", "{}"})
    EXPECT_NE(refusal("models: [{pattern: m, window: " + std::string(value) + "}]"), "accepted") << value;
  for (const char* const value : {"nan", "inf", "-1", "0", "1.01", "true"})
    EXPECT_NE(refusal("models: [{pattern: m, force_at: " + std::string(value) + "}]"), "accepted") << value;
}

TEST(ModelOverlay, TheSamePatternTwiceIsAMistake) {
  EXPECT_NE(refusal("models: [{pattern: m}, {pattern: m}]").find("is repeated"), std::string::npos);
}

TEST(ModelOverlay, GarbageIsRefusedAndNothingChanges) {
  for (const std::string& yaml :
       {std::string("\x00\xff\x1b{[", 5), std::string("models: ["), std::string(100'000, '[')})
    EXPECT_NE(refusal(yaml), "accepted");
}

// ---- docs/reference/models.md

TEST(ModelOverlay, TheExampleOfTheReferenceLoads) {
  const auto page = read_file(AGENTD_MODELS_PAGE, 1 << 20);
  ASSERT_TRUE(page);
  const std::size_t begin = page->find("```yaml\n");
  ASSERT_NE(begin, std::string::npos);
  const std::size_t end = page->find("```", begin + 8);
  const ModelTable table = overlaid(page->substr(begin + 8, end - begin - 8));
  EXPECT_EQ(table.find("qwen3-coder:30b").window, 65'536u);
  EXPECT_EQ(table.find("claude-sonnet-4-5").compact_at, 0.6);
}

}  // namespace
}  // namespace agentd
