// SPDX-License-Identifier: Apache-2.0
// The model table at work: betas on the wire and in the gauge, the user's own entries, what was
// learned of a model's tokenizer.
#include <gtest/gtest.h>

#include <string>

#include "tests/e2e/program.h"
#include "tests/support/anthropic_rules.h"
#include "tests/support/anthropic_wire.h"
#include "tests/support/dates.h"
#include "tests/support/loopback_server.h"

namespace agentd::testing {
namespace {

constexpr const char* kWide = "context-1m-2025-08-07";
constexpr std::uint64_t kReserve = 16'384;
// A model whose window a beta opens.
constexpr const char* kBetaModel =
    "models: [{pattern: claude-wide, window: 200000, betas: {context-1m-2025-08-07: 1000000}}]\n";

Reply good_day(const std::string& usage = R"({"input_tokens":25,"output_tokens":1})") {
  return Reply::stream(AnthropicWire().start(usage).text({"Good day."}).finish("end_turn").bytes());
}

class Models : public ::testing::Test {
 protected:
  Models() {
    program_.set("ANTHROPIC_API_KEY=sk-test-123");
    program_.set("NO_PROXY=127.0.0.1");
  }
  Finished run(LoopbackServer& server, std::vector<std::string> words) {
    words.insert(words.end(), {"--set", "base_url=" + server.url(), "--set", "providers.anthropic.max_retries=0"});
    return program_.run(words);
  }
  void models_yaml(const std::string& yaml) const {
    ASSERT_TRUE(make_directories(program_.home()));
    ASSERT_TRUE(write_file_atomically(program_.home() + "/models.yaml", yaml, 0600));
  }
  // The gauge's limit in the last line that has one.
  static std::uint64_t limit_of(const Finished& ran) {
    std::uint64_t limit = 0;
    for (const JsonDocument& line : json_lines(ran.out))
      if (line.root()["context"].exists()) limit = line.root()["context"]["limit"].uint_or(0);
    return limit;
  }
  static std::size_t warnings_in(const Finished& ran) {
    std::size_t count = 0;
    for (const JsonDocument& line : json_lines(ran.out))
      if (line.root()["type"].string_or({}) == "warning") ++count;
    return count;
  }
  Program program_;
};

TEST_F(Models, ABetaGoesOutAsAHeaderAndOpensTheWindow) {
  program_.config("providers:\n  anthropic:\n    betas: [" + std::string(kWide) + ", other-2025-01-01]\n");
  models_yaml(kBetaModel);
  LoopbackServer server(std::deque<Reply>{good_day()});
  const Finished ran = run(server, {"run", "--json", "--model", "claude-wide", "hello"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  ASSERT_EQ(server.requests().size(), 1u);
  EXPECT_EQ(server.requests()[0].header("anthropic-beta"), std::string(kWide) + ",other-2025-01-01");
  EXPECT_EQ(limit_of(ran), 1'000'000u - kReserve);
  EXPECT_EQ(warnings_in(ran), 0u) << ran.out;
}

TEST_F(Models, WithoutTheBetaThereIsNoHeaderAndTheUsualWindow) {
  models_yaml(kBetaModel);
  LoopbackServer server(std::deque<Reply>{good_day()});
  const Finished ran = run(server, {"run", "--json", "--model", "claude-wide", "hello"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(server.requests()[0].header("anthropic-beta"), "");
  EXPECT_EQ(limit_of(ran), 200'000u - kReserve);
}

TEST_F(Models, ABetaThatTheModelDoesNotHaveIsSentAndToldAndOpensNothing) {
  models_yaml("models: [{pattern: claude-narrow, window: 200000}]\n");
  LoopbackServer server(std::deque<Reply>{good_day()});
  const Finished ran = run(server, {"run", "--json", "--model", "claude-narrow", "--set",
                                    "providers.anthropic.betas=" + std::string(kWide), "hello"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(server.requests()[0].header("anthropic-beta"), kWide);
  EXPECT_EQ(limit_of(ran), 200'000u - kReserve);
  EXPECT_EQ(warnings_in(ran), 1u) << ran.out;
  EXPECT_NE(ran.out.find("does not widen the window of claude-narrow"), std::string::npos) << ran.out;
}

TEST_F(Models, AnUnknownModelIsToldOnceWithTheKeyThatHelps) {
  LoopbackServer server(std::deque<Reply>{good_day(), good_day(), good_day()});
  const Finished ran = run(server, {"run", "--json", "--model", "house-model-7", "hello"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(warnings_in(ran), 1u) << ran.out;
  EXPECT_NE(ran.out.find("context_window"), std::string::npos) << ran.out;
  EXPECT_EQ(limit_of(ran), 200'000u - kReserve);
  const Finished set =
      run(server, {"run", "--json", "--model", "house-model-7", "--set", "context_window=50000", "hello"});
  EXPECT_EQ(warnings_in(set), 0u) << set.out;
  EXPECT_EQ(limit_of(set), 50'000u - 50'000u / 4);
  models_yaml("models: [{pattern: house-model, window: 60000, max_output: 1000, compact_at: 0.5}]\n");
  const Finished known = run(server, {"run", "--json", "--model", "house-model-7", "hello"});
  EXPECT_EQ(warnings_in(known), 0u) << known.out;
  EXPECT_EQ(limit_of(known), 59'000u);
}

TEST_F(Models, AMistakeInTheTableExitsTwoWithItsPlace) {
  models_yaml("models:\n  - pattern: m\n    windw: 5\n");
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"models"}, std::vector<std::string>{"run", "hello"}}) {
    const Finished ran = program_.run(words);
    EXPECT_EQ(ran.code, 2);
    EXPECT_EQ(ran.err,
              "agentd: " + program_.home() + "/models.yaml:3:5: unknown key 'windw': did you mean 'window'?\n");
  }
}

TEST_F(Models, ALadderUpsideDownIsRefused) {
  models_yaml("models: [{pattern: scripted, force_at: 0.5}]\n");
  const Finished ran = program_.run({"run", "--script", program_.script("- text: a\n"), "x"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_NE(ran.err.find("force_at is below compact_at"), std::string::npos) << ran.err;
  EXPECT_EQ(
      program_.run({"run", "--script", program_.script("- text: a\n"), "--set", "compaction.force_at=0.9", "x"}).code,
      0);
}

TEST_F(Models, TheTableIsListed) {
  models_yaml("models: [{pattern: house-model, window: 60000, max_output: 1000}]\n");
  const Finished ran = program_.run({"models"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.out.find("claude-sonnet-4-5"), std::string::npos);
  EXPECT_NE(ran.out.find("house-model"), std::string::npos);
  EXPECT_NE(ran.out.find("(any other)"), std::string::npos);
  EXPECT_EQ(ran.out.find('*'), std::string::npos);
  const Finished json = program_.run({"models", "--json"});
  ASSERT_EQ(json.code, 0) << json.err;
  EXPECT_GT(json_lines(json.out).size(), 25u);
  // Columns for which a terminal has no room.
  EXPECT_TRUE(has(json.out, program_.home() + "/models.yaml:1"));
  EXPECT_TRUE(has(program_.run({"models", "house-model"}).out, program_.home() + "/models.yaml:1"));
}

TEST_F(Models, ANameSaysWhatItComesToAndWhy) {
  models_yaml("models: [{pattern: claude-sonnet-4-5, retires: 2999-12-31}]\n");
  const std::vector<std::string> beta{"--set", "providers.anthropic.betas=" + std::string(kWide)};
  Finished ran = program_.run({"models", "us.anthropic.claude-sonnet-4-5-20250929-v1:0", beta[0], beta[1]});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.out,
            "us.anthropic.claude-sonnet-4-5-20250929-v1:0\n"
            "  entry       'claude-sonnet-4-5' (" +
                program_.home() +
                "/models.yaml:1)\n"
                "  provider    anthropic\n"
                "  window      1,000,000 tokens, with the beta context-1m-2025-08-07 (200,000 without it)\n"
                "  limit       983,616 tokens for a conversation, 16,384 are reserved for the answer\n"
                "  output      64,000 tokens at most\n"
                "  thinking    budget\n"
                "  sampling    temperature and top_p are accepted\n"
                "  prices      unknown: set 'prices' in an entry of models.yaml\n"
                "  retires     2999-12-31; claude-sonnet-5-5 follows\n"
                "  summariser  the model itself\n"
                "  encoding    unknown\n"
                "  counted by  simple\n");
  ran = program_.run({"models", "nobody-knows", "--json"});
  ASSERT_EQ(ran.code, 0);
  const auto lines = json_lines(ran.out);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_TRUE(lines[0].root()["pattern"].is_null());
  EXPECT_EQ(lines[0].root()["window"].uint_or(0), 200'000u);
  EXPECT_EQ(lines[0].root()["from"].string_or({}), "built-in");
}

TEST_F(Models, TheCounterIsChosenByModelOrByForce) {
  const auto counter = [&](const std::string& model, const std::string& wanted) {
    const Finished ran = program_.run({"models", model, "--json", "--set", "tokens.counter=" + wanted});
    EXPECT_EQ(ran.code, 0) << ran.err;
    return std::string(json_lines(ran.out)[0].root()["counter"].string_or({}));
  };
  EXPECT_EQ(counter("gpt-4o", "auto"), "o200k_base");
  EXPECT_EQ(counter("gpt-4", "auto"), "cl100k_base");
  EXPECT_EQ(counter("claude-sonnet-4-5", "auto"), "simple");
  EXPECT_EQ(counter("claude-sonnet-4-5", "bpe"), "cl100k_base");
  EXPECT_EQ(counter("gpt-4o", "simple"), "simple");
  const Finished bad = program_.run({"models", "--set", "tokens.counter=exact"});
  EXPECT_EQ(bad.code, 2);
  EXPECT_NE(bad.err.find("tokens.counter must be one of auto, simple, bpe, not 'exact'"), std::string::npos) << bad.err;
}

// ---- thinking, as the models of today take it

std::string field(const Finished& ran, std::string_view type, std::string_view key) {
  std::string out;
  for (const JsonDocument& line : json_lines(ran.out))
    if (line.root()["type"].string_or({}) == type) out += line.root()[key].string_or({});
  return out;
}

// A server that refuses what the API refuses, word for word.
Reply strict(const RecordedRequest& request) {
  const std::string why = anthropic_refusal(request.body);
  if (!why.empty())
    return Reply::http(400, {{"content-type", "application/json"}}, anthropic_error_body("invalid_request_error", why));
  return Reply::stream(
      AnthropicWire().start().thinking({"Let me ", "see."}, "claude/1").text({"Good day."}).finish("end_turn").bytes());
}

TEST_F(Models, TheDefaultModelTakesWhatItIsSent) {
  for (const std::vector<std::string>& more : {std::vector<std::string>{},
                                               {"--set", "thinking_tokens=20000"},
                                               {"--set", "effort=max"},
                                               {"--set", "effort=none"},
                                               {"--set", "max_output_tokens=128000"}}) {
    LoopbackServer server(strict);
    std::vector<std::string> words{"run", "--json", "hello"};
    words.insert(words.end(), more.begin(), more.end());
    const Finished ran = run(server, words);
    ASSERT_EQ(ran.code, 0) << ran.err << ran.out;
    EXPECT_NE(server.requests()[0].body.find(R"("model":"claude-sonnet-5-5")"), std::string::npos);
    EXPECT_EQ(field(ran, "thinking_delta", "text"), "Let me see.") << ran.out;
  }
}

TEST_F(Models, EveryModelOfTodayTakesAConfiguredBudget) {
  for (const char* const model :
       {"claude-fable-5-1", "claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5", "claude-opus-5",
        "claude-sonnet-5", "claude-opus-4-8", "claude-opus-4-6", "claude-opus-4-5", "claude-haiku-4-5"}) {
    LoopbackServer server(strict);
    const Finished ran = run(server, {"run", "--json", "--model", model, "--set", "thinking_tokens=8000", "hello"});
    EXPECT_EQ(ran.code, 0) << model << ran.err << ran.out;
  }
}

TEST_F(Models, AWishThatTheModelDoesNotTakeIsToldAndSentAsTheNearest) {
  LoopbackServer server(strict);
  const Finished ran = run(server, {"run", "--json", "--set", "thinking_tokens=20000", "hello"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(field(ran, "warning", "text").find("thinking_tokens 20,000 is sent as effort high"), std::string::npos)
      << ran.out;
  EXPECT_NE(server.requests()[0].body.find(R"("output_config":{"effort":"high"})"), std::string::npos);
}

TEST_F(Models, AnEffortOfTheUsersOwnTableIsSent) {
  models_yaml("models: [{pattern: house, thinking: adaptive, efforts: [low, high], thinking_off: omit}]\n");
  LoopbackServer server(strict);
  const Finished ran = run(server, {"run", "--json", "--model", "house-1", "--set", "effort=max", "hello"});
  ASSERT_EQ(ran.code, 0) << ran.err << ran.out;
  EXPECT_NE(server.requests()[0].body.find(R"("output_config":{"effort":"high"})"), std::string::npos);
  EXPECT_NE(field(ran, "warning", "text").find("house-1 has no effort max"), std::string::npos);
}

TEST_F(Models, AModelThatRetiresSoonIsToldWhenARunBegins) {
  for (const auto& [ahead, told] : {std::pair(30, true), {-3, true}, {90, false}}) {
    models_yaml("models: [{pattern: claude-house, retires: " + utc_day(ahead) + "}]\n");
    LoopbackServer server(std::deque<Reply>{good_day()});
    const Finished ran = run(server, {"run", "--json", "--model", "claude-house", "hello"});
    ASSERT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(field(ran, "warning", "text").find("retired by its provider on " + utc_day(ahead)) != std::string::npos,
              told)
        << ran.out;
  }
}

// Nothing is released or installed on that day: the program knows it from the table.
TEST_F(Models, AModelIsRetiredFromItsDayOn) {
  models_yaml("models: [{pattern: house-old, retires: " + utc_day(-1) +
              ", successor: house-new}, {pattern: house-new, retires: " + utc_day(2) + "}]\n");
  EXPECT_TRUE(has(program_.run({"models", "house-old"}).out, "  retired     " + utc_day(-1) + "; house-new follows\n"));
  EXPECT_TRUE(has(program_.run({"models", "house-new"}).out, "  retires     " + utc_day(2) + "\n"));
  std::string order;
  for (const JsonDocument& line : json_lines(program_.run({"models", "--json"}).out))
    if (const std::string pattern(line.root()["pattern"].string_or("")); pattern.starts_with("house"))
      order += pattern + (line.root()["retired"].bool_or(false) ? " retired " : " ");
  EXPECT_EQ(order, "house-new house-old retired ");
  EXPECT_TRUE(has(program_.run({"models"}).out, utc_day(-1) + " (retired)"));
  const Finished doctor = program_.run({"doctor", "--set", "model=house-old", "--set", "provider=anthropic"});
  EXPECT_TRUE(has(doctor.out, "the model house-old was retired by its provider on " + utc_day(-1))) << doctor.out;
}

TEST_F(Models, ADefaultThatHasRetiredIsNotChosenAnyMore) {
  for (const auto& [retires, model] : {std::pair(-1, "claude-opus-5-5"), {2, "claude-sonnet-5-5"}}) {
    models_yaml("models: [{pattern: claude-sonnet-5-5, retires: " + utc_day(retires) +
                ", successor: claude-opus-5-5}]\n");
    LoopbackServer server(strict);
    const Finished ran = run(server, {"run", "--json", "hello"});
    ASSERT_EQ(ran.code, 0) << ran.err << ran.out;
    EXPECT_TRUE(has(server.requests()[0].body, R"("model":")" + std::string(model) + '"')) << server.requests()[0].body;
    EXPECT_EQ(has(field(ran, "warning", "text"), "will be retired"), retires > 0) << ran.out;
  }
}

TEST_F(Models, ASummariserThatHasRetiredIsNotChosenAnyMore) {
  models_yaml("models: [{pattern: claude-haiku-5-5, retires: " + utc_day(-1) + ", successor: claude-opus-5}]\n");
  LoopbackServer server(strict);
  ASSERT_EQ(run(server, {"run", "hello"}).code, 0);
  const Finished compacted = run(server, {"compact", "--follow"});
  ASSERT_EQ(compacted.code, 0) << compacted.err;
  EXPECT_TRUE(has(server.requests().back().body, R"("model":"claude-opus-5")")) << server.requests().back().body;
  EXPECT_TRUE(has(program_.run({"models", "claude-sonnet-5-5"}).out, "  summariser  claude-opus-5\n"));
}

TEST_F(Models, AFallbackThatHasRetiredIsPassedOverWhenItIsNotFound) {
  models_yaml("models: [{pattern: claude-old, retires: " + utc_day(-1) + "}]\n");
  LoopbackServer server([](const RecordedRequest& request) {
    if (has(request.body, R"("model":"claude-sonnet-5-5")"))
      return Reply::http(529, {{"content-type", "application/json"}},
                         anthropic_error_body("overloaded_error", "later"));
    if (has(request.body, R"("model":"claude-old")"))
      return Reply::http(404, {{"content-type", "application/json"}}, anthropic_error_body("not_found_error", "gone"));
    return good_day();
  });
  const Finished ran = run(server, {"run", "--json", "--set", "fallback=claude-old,claude-opus-5-5", "hello"});
  ASSERT_EQ(ran.code, 0) << ran.err << ran.out;
  EXPECT_EQ(server.requests().size(), 3u);
  const std::string told = field(ran, "warning", "text");
  EXPECT_TRUE(has(told, "the model claude-old was retired by its provider on " + utc_day(-1))) << told;
  EXPECT_TRUE(has(told, "claude-opus-5-5 is used instead")) << told;
}

// The day of the machine's own zone, which is at most one beside UTC's.
TEST_F(Models, TheDayIsToldToTheModel) {
  LoopbackServer server(strict);
  ASSERT_EQ(run(server, {"run", "hello"}).code, 0);
  const std::string& body = server.requests()[0].body;
  const auto says = [&](int ahead) { return has(body, "today is " + utc_day(ahead)); };
  EXPECT_TRUE(says(-1) || says(0) || says(1)) << body;
}

// ---- texts of white space alone, which the API refuses

TEST_F(Models, AConversationWithABlankAnswerGoesOn) {
  int calls = 0;
  LoopbackServer server([&](const RecordedRequest& request) {
    const std::string why = anthropic_refusal(request.body);
    if (!why.empty())
      return Reply::http(400, {{"content-type", "application/json"}},
                         anthropic_error_body("invalid_request_error", why));
    return Reply::stream(AnthropicWire().start().text({calls++ == 0 ? "\n\n" : "Well."}).finish("end_turn").bytes());
  });
  ASSERT_EQ(run(server, {"run", "one"}).code, 11);
  const Finished next = run(server, {"run", "--follow", "two"});
  EXPECT_EQ(next.code, 0) << next.err;
  EXPECT_EQ(run(server, {"compact", "--follow"}).code, 0);
}

TEST_F(Models, ABlankMessageIsRefusedAndNothingIsStored) {
  LoopbackServer server(strict);
  for (const char* const blank : {" ", "\n\t", "\xC2\xA0\xE3\x80\x80"}) {
    const Finished ran = run(server, {"run", blank});
    EXPECT_EQ(ran.code, 2) << ran.err;
    EXPECT_EQ(ran.err,
              "agentd: the message is empty: write it after the command, as in agentd run \"...\", or pipe it in\n");
  }
  EXPECT_TRUE(server.requests().empty());
  EXPECT_EQ(program_.newest(), "");
}

// ---- thinking that only one model can read

// Answers with thinking that only the model of the request reads again.
class SignedServer {
 public:
  explicit SignedServer(bool calls_a_tool = false) : calls_a_tool_(calls_a_tool) {}
  AnthropicRules rules{false, true};
  std::vector<std::string> models, refused;

  Reply operator()(const RecordedRequest& request) {
    const auto body = JsonDocument::parse(request.body);
    const std::string model(body ? body->root()["model"].string_or("") : "");
    models.push_back(model);
    const std::string why = anthropic_refusal(request.body, rules);
    if (!why.empty()) {
      refused.push_back(model + ": " + why);
      return Reply::http(400, {{"content-type", "application/json"}},
                         anthropic_error_body("invalid_request_error", why));
    }
    AnthropicWire wire;
    wire.start().thinking({"Hm."}, model + "/" + std::to_string(models.size())).text({"It is done."});
    if (calls_a_tool_ && models.size() == 1) wire.tool_use("toolu_1", "read_file", {R"({"path":"x"})"});
    return Reply::stream(wire.finish(calls_a_tool_ && models.size() == 1 ? "tool_use" : "end_turn").bytes());
  }

 private:
  const bool calls_a_tool_;
};

TEST_F(Models, TheCheapModelSummarisesAHistoryOfTheMainModelsThinking) {
  SignedServer answers;
  LoopbackServer server([&](const RecordedRequest& request) { return answers(request); });
  ASSERT_EQ(run(server, {"run", "--model", "claude-opus-5-5", "one"}).code, 0);
  ASSERT_EQ(run(server, {"run", "--follow", "--model", "claude-opus-5-5", "two"}).code, 0);
  const Finished done = run(server, {"compact", "--follow", "--json", "--set", "model=claude-opus-5-5"});
  EXPECT_EQ(done.code, 0) << done.err << done.out;
  EXPECT_EQ(answers.models, (std::vector<std::string>{"claude-opus-5-5", "claude-opus-5-5", "claude-haiku-5-5"}));
  EXPECT_TRUE(answers.refused.empty()) << answers.refused[0];
}

TEST_F(Models, AConversationGoesOnWithAnotherModel) {
  SignedServer answers;
  LoopbackServer server([&](const RecordedRequest& request) { return answers(request); });
  for (const char* const model : {"claude-opus-5-5", "claude-sonnet-5-5", "claude-opus-5-5", "claude-haiku-5-5"}) {
    const Finished ran = answers.models.empty() ? run(server, {"run", "--model", model, "hello"})
                                                : run(server, {"run", "--follow", "--model", model, "hello"});
    EXPECT_EQ(ran.code, 0) << ran.err;
  }
  EXPECT_TRUE(answers.refused.empty()) << answers.refused[0];
}

// A gateway that takes tool blocks only beside tools.
TEST_F(Models, ASummaryOfToolCallsTakesTheToolsAlong) {
  SignedServer answers(true);
  answers.rules = {true, true};
  LoopbackServer server([&](const RecordedRequest& request) { return answers(request); });
  const Finished ran = run(server, {"run", "one"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const Finished done = run(server, {"compact", "--follow"});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_TRUE(answers.refused.empty()) << answers.refused[0];
  EXPECT_EQ(answers.models.size(), 3u);
  EXPECT_NE(server.requests()[2].body.find(R"("tool_choice":{"type":"none"})"), std::string::npos);
}

TEST_F(Models, AnAnswerThatTheFullWindowCutsIsTold) {
  LoopbackServer server(
      {Reply::stream(AnthropicWire().start().text({"Half"}).finish("model_context_window_exceeded").bytes())});
  const Finished ran = run(server, {"run", "--json", "hello"});
  EXPECT_EQ(ran.code, 10);
  EXPECT_NE(field(ran, "warning", "text").find("the answer was cut because the model's window is full"),
            std::string::npos)
      << ran.out;
}

// ---- the provider's own variables

TEST_F(Models, TheProvidersVariablesLeadToItsGateway) {
  LoopbackServer gateway(std::deque<Reply>{good_day(), good_day()});
  Program program;
  program.set("NO_PROXY=127.0.0.1");
  program.set("ANTHROPIC_BASE_URL=" + gateway.url() + "/llm/");
  program.set("ANTHROPIC_AUTH_TOKEN=token-1");
  const Finished ran = program.run({"run", "hello"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  ASSERT_EQ(gateway.requests().size(), 1u);
  EXPECT_EQ(gateway.requests()[0].target, "/llm/v1/messages");
  EXPECT_EQ(gateway.requests()[0].header("authorization"), "Bearer token-1");
  EXPECT_EQ(gateway.requests()[0].header("x-api-key"), "");
  program.set("ANTHROPIC_API_KEY=key-1");
  ASSERT_EQ(program.run({"run", "hello"}).code, 0);
  EXPECT_EQ(gateway.requests()[1].header("x-api-key"), "key-1");
  EXPECT_EQ(gateway.requests()[1].header("authorization"), "");
}

TEST_F(Models, OurOwnSettingBeatsTheProvidersVariable) {
  LoopbackServer ours(std::deque<Reply>{good_day()}), theirs(std::deque<Reply>{});
  program_.set("ANTHROPIC_BASE_URL=" + theirs.url());
  program_.config("providers: {anthropic: {base_url: " + ours.url() + "}}\n");
  const Finished ran = program_.run({"run", "hello"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ours.requests().size(), 1u);
  EXPECT_TRUE(theirs.requests().empty());
}

TEST_F(Models, WhereRequestsGoIsTold) {
  program_.set("ANTHROPIC_BASE_URL=https://ann:secret@gateway.example/llm/private");
  const Finished why = program_.run({"config", "explain", "providers.anthropic.base_url"});
  EXPECT_NE(why.out.find("* provider's environment (ANTHROPIC_BASE_URL): "
                         "\"https://***@gateway.example/llm/private\""),
            std::string::npos)
      << why.out;
  const Finished doctor = program_.run({"doctor"});
  EXPECT_NE(doctor.out.find("anthropic: requests go to gateway.example (ANTHROPIC_BASE_URL)"), std::string::npos)
      << doctor.out;
  EXPECT_EQ(doctor.out.find("secret"), std::string::npos);
  EXPECT_EQ(doctor.out.find("private"), std::string::npos);
}

TEST_F(Models, HttpToAnotherMachineIsRefusedBeforeAnythingIsSent) {
  program_.set("ANTHROPIC_BASE_URL=http://gateway.example/llm");
  const Finished ran = program_.run({"run", "hello"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_EQ(ran.err,
            "agentd: providers.anthropic.base_url (ANTHROPIC_BASE_URL): http://gateway.example would carry "
            "the key and the prompts unencrypted; use https\n");
}

// What a repository brings is no setting.
TEST_F(Models, AProjectCannotSayWhereRequestsGo) {
  LoopbackServer own(std::deque<Reply>{good_day()}), projects(std::deque<Reply>{});
  ASSERT_TRUE(make_directories(program_.project() + "/.agent"));
  for (const char* const name : {".env", ".agent/.env", ".envrc"})
    program_.file(name, "ANTHROPIC_BASE_URL=" + projects.url() + "\nAGENTD_BASE_URL=" + projects.url());
  program_.file(".agent/config.yaml",
                "base_url: " + projects.url() + "\nproviders: {anthropic: {base_url: " + projects.url() + "}}\n");
  program_.set("ANTHROPIC_BASE_URL=" + own.url());
  const Finished ran = program_.run({"run", "hello"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(own.requests().size(), 1u);
  EXPECT_TRUE(projects.requests().empty());
}

// The provider counts half as many tokens again as bytes / 4 does; the next process knows.
TEST_F(Models, WhatAModelReportedIsKnownToTheNextRun) {
  const std::string question(40'000, 'x');
  const auto used = [&](const Finished& ran) {
    std::uint64_t first = 0;
    for (const JsonDocument& line : json_lines(ran.out))
      if (first == 0 && line.root()["context"].exists()) first = line.root()["context"]["used"].uint_or(0);
    return first;
  };
  const Finished before = program_.run({"run", "--json", "--script", program_.script("- text: a\n"), question});
  ASSERT_EQ(before.code, 0) << before.err;
  const std::string reported = program_.script("- text: b\n  usage: {input: 18000, output: 5}\n");
  ASSERT_EQ(program_.run({"run", "--script", reported, question}).code, 0);
  const Finished after = program_.run({"run", "--json", "--script", program_.script("- text: a\n"), question});
  ASSERT_GT(used(before), 10'000u) << before.out;
  EXPECT_GT(used(after), used(before) * 12 / 10);
  EXPECT_LT(used(after), used(before) * 19 / 10);
}

}  // namespace
}  // namespace agentd::testing
