// SPDX-License-Identifier: Apache-2.0
// The eleven lines of the context specification's checklist, by their names and with their numbers,
// through the built program.
#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>
#include <string>

#include "core/base/file.h"
#include "core/base/ids.h"
#include "tests/e2e/compaction_stage.h"

namespace agentd::testing {
namespace {

constexpr std::uint64_t kKeepTokens = kStageWindow * 40 / 100;

class Checklist : public CompactionStage {
 protected:
  explicit Checklist(const std::string& more_config = {}) : CompactionStage(more_config) {}
  std::vector<std::string> next(const std::string& words = "go on") const { return {"--follow", "--no-tools", words}; }
  // Two runs whose last answer reports so many tokens in all.
  void fill_to(std::uint64_t tokens) {
    model_.say(std::string(20'000, 'a'));
    ASSERT_EQ(run({"--no-tools", "one " + std::string(6'000, 'p')}).code, 0);
    model_.say(std::string(8'000, 'b'), tokens - 2'000, 2'000);
    ASSERT_EQ(run({"--follow", "--no-tools", "two " + std::string(4'000, 'q')}).code, 0);
  }
  static JsonDocument last_event(const Finished& ran, const std::string& type) {
    JsonDocument found = *JsonDocument::parse("{}");
    for (JsonDocument& line : json_lines(ran.out))
      if (line.root()["type"].string_or("") == type) found = std::move(line);
    return found;
  }
};

// ---- Trigger threshold: auto-compact fires at 80 % context utilization

TEST_F(Checklist, TriggerThreshold_NothingHappensBelow80Percent) {
  fill_to(kStageCompactAt - 50);  // the question adds some six
  const Finished ran = run(next());
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(outcomes(ran), "");
}

TEST_F(Checklist, TriggerThreshold_CompactionStartsAt80Percent) {
  fill_to(kStageCompactAt);
  const Finished ran = run(next());
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(outcomes(ran), "applied");
  const JsonDocument boundary = boundary_message(ran);
  const std::uint64_t pre = boundary.root()["compact_metadata"]["pre_tokens"].uint_or(0);
  EXPECT_GE(pre, kStageLimit * 80 / 100);
  EXPECT_LE(pre, kStageLimit * 81 / 100);
}

// ---- Split point: preserves ~40 % of context as recent messages

TEST_F(Checklist, SplitPoint) {
  record_events({"before_compaction"});
  // Questions and answers of some 600 tokens each, one after the other.
  for (int i = 0; i < 16; ++i) {
    model_.say("answer " + std::to_string(i) + std::string(2'300, 'a'));
    std::vector<std::string> words = next("question " + std::to_string(i) + std::string(2'300, 'q'));
    if (i == 0) words.erase(words.begin());
    const Finished ran = run(words);
    ASSERT_EQ(ran.code, 0) << ran.err;
    if (!outcomes(ran).empty()) break;
  }
  const auto asked = recorded("before_compaction");
  ASSERT_EQ(asked.size(), 1u);
  const std::uint64_t kept = asked[0].root()["keep_tokens"].uint_or(0);
  // As much as fits: one more message would not have.
  EXPECT_LE(kept, kKeepTokens);
  EXPECT_GT(kept, kKeepTokens - 700);
  // They are the newest ones, without a gap.
  const JsonView range = asked[0].root()["range"];
  EXPECT_LT(range["summarized"]["last"].uint_or(0), range["kept"]["first"].uint_or(0));
  EXPECT_EQ(range["kept"]["last"].uint_or(0), asked[0].root()["revision"].uint_or(1));
}

// ---- Summary quality: retains key decisions, file paths, pending tasks

TEST_F(Checklist, SummaryQuality) {
  program_.file("notes.txt", "the fix is in src/deploy/rollout.cc:88\n" + std::string(6'000, 'n'));
  const std::string decision = "DECISION: canary first, because the database cannot roll back";
  model_.call_tool("read_file", R"({"path":"notes.txt"})").say(decision + std::string(14'000, 'a'));
  ASSERT_EQ(run({"deploy it, but never on Fridays " + std::string(4'000, 'p')}).code, 0);
  model_.say("PENDING: update docs/rollout.md " + std::string(8'000, 'b'));
  ASSERT_EQ(run(next("what is left? " + std::string(4'000, 'q'))).code, 0);
  const Finished ran = compact({"--follow", "--instructions", "HEED the deployment"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const auto calls = model_.calls_since(0, true);
  ASSERT_EQ(calls.size(), 1u);
  std::string asked = texts_of(calls[0].body), lower = asked;
  // Everything that it should retain reaches it: what was said, called and read.
  for (const char* fact : {"never on Fridays", "DECISION: canary first, because the database cannot roll back",
                           "notes.txt", "src/deploy/rollout.cc:88", "PENDING: update docs/rollout.md"})
    EXPECT_TRUE(has(asked, fact)) << fact;
  // And it is asked for: decisions with their reasons, paths and changes, what is open, what the
  // user wants, outputs that still matter.
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
  for (const char* wish :
       {"decision", "why", "path", "change", "pending", "constraint", "preference", "command", "error"})
    EXPECT_TRUE(has(lower, wish)) << wish;
  EXPECT_TRUE(has(asked, "HEED the deployment"));
  EXPECT_GT(asked.find("HEED the deployment"), asked.find("PENDING: update"));
  // What it answers is what the next request holds, word for word.
  model_.say("on it");
  ASSERT_EQ(run(next()).code, 0);
  EXPECT_TRUE(has(texts_of(model_.calls().back().body), kSummaryText));
}

// ---- CompactBoundary emission: emitted with correct trigger and pre_tokens

TEST_F(Checklist, CompactBoundaryEmission) {
  record_events({"before_compaction"});
  fill_to(kStageCompactAt);
  const Finished automatic = run(next());
  const JsonDocument message = boundary_message(automatic);
  const JsonView root = message.root();
  EXPECT_EQ(root["type"].string_or(""), "system");
  EXPECT_EQ(root["subtype"].string_or(""), "compact_boundary");
  EXPECT_EQ(root["compact_metadata"]["trigger"].string_or(""), "auto");
  const auto asked = recorded("before_compaction");
  ASSERT_EQ(asked.size(), 1u);
  EXPECT_EQ(root["compact_metadata"]["pre_tokens"].uint_or(1), asked[0].root()["tokens"].uint_or(0));
  EXPECT_EQ(root["compact_metadata"]["pre_tokens"].uint_or(1), asked[0].root()["context"]["used"].uint_or(0));
  const auto boundary = Ulid::parse(root["compact_metadata"]["id"].string_or(""));
  ASSERT_TRUE(boundary);
  EXPECT_EQ(root["uuid"].string_or(""), boundary->uuid());
  const JsonView kept = root["compact_metadata"]["preserved_messages"];
  EXPECT_EQ(kept["anchor_uuid"].string_or("").size(), 36u);
  ASSERT_GT(kept["uuids"].size(), 0u);
  EXPECT_EQ(kept["uuids"].at(0).string_or("").substr(0, 23), kept["anchor_uuid"].string_or("").substr(0, 23))
      << "messages of one conversation";
  EXPECT_EQ(root["session_id"].string_or("?"), last_event(automatic, "run_started").root()["session_id"].string_or(""));

  const Finished manual = compact();
  const JsonDocument second = boundary_message(manual);
  EXPECT_EQ(second.root()["compact_metadata"]["trigger"].string_or(""), "manual");
  EXPECT_NE(second.root()["uuid"].string_or(""), root["uuid"].string_or(""));
}

// ---- Hook firing: PreCompact fires before, SessionStart(compact) fires after

TEST_F(Checklist, HookFiring) {
  const std::string log = program_.directory().file("fired");
  const auto command = [&](const std::string& word) {
    return R"({"hooks":[{"type":"command","command":"cat > )" + program_.directory().file(word) + "; echo " + word +
           " >> " + log + R"("}]})";
  };
  const std::string settings = program_.directory().write(
      "settings.json", R"({"hooks":{"PreCompact":[)" + command("PreCompact") +
                           R"(],"SessionStart":[{"matcher":"compact",)" + command("SessionStart").substr(1) + "]}}");
  fill();
  std::mutex mutex;  // the model's server answers in a thread of its own
  std::string at_the_call = "nobody";
  model_.summaries_by([&](const RecordedRequest& request) {
    const std::lock_guard lock(mutex);
    at_the_call = program_.directory().read("fired");
    return PlayedAnthropic::text_reply(request.body, kSummaryText);
  });
  std::vector<std::string> words = next(question());
  words.insert(words.end(), {"--set", "hooks.adapt=claude:" + settings});
  const Finished ran = run(words);
  ASSERT_EQ(outcomes(ran), "applied") << ran.err << ran.out;
  const std::lock_guard lock(mutex);
  EXPECT_EQ(at_the_call, "PreCompact\n");
  EXPECT_EQ(program_.directory().read("fired"), "PreCompact\nSessionStart\n");
  const auto pre = JsonDocument::parse(program_.directory().read("PreCompact"));
  ASSERT_TRUE(pre);
  EXPECT_EQ(pre->root()["hook_event_name"].string_or(""), "PreCompact");
  EXPECT_EQ(pre->root()["trigger"].string_or(""), "auto");
  EXPECT_TRUE(pre->root()["custom_instructions"].exists());
  const auto start = JsonDocument::parse(program_.directory().read("SessionStart"));
  ASSERT_TRUE(start);
  EXPECT_EQ(start->root()["source"].string_or(""), "compact");
}

// ---- Token estimation: within 20 % of actual token counts

// The corpus of languages, code and JSON is in the tests of the room of tokens; this is what a user
// sees.
TEST_F(Checklist, TokenEstimation) {
  // Ten tokens in every vocabulary of GPT's: The| quick| brown| fox| jumps| over| the| lazy| dog|.
  constexpr int kSentences = 1'000;
  std::string text;
  for (int i = 0; i < kSentences; ++i) text += "The quick brown fox jumps over the lazy dog. ";
  const auto used = [&](const std::string& question) {
    const Finished ran =
        run({"--no-tools", "--script", program_.script("- text: ok\n"), "--set", "context_window=200000", question});
    EXPECT_EQ(last_event(ran, "run_ended").root()["context"]["source"].string_or(""), "estimate");
    return last_event(ran, "run_ended").root()["context"]["used"].uint_or(0);
  };
  const double estimate = static_cast<double>(used(text)) - static_cast<double>(used("."));
  EXPECT_GT(estimate, 0.8 * 10 * kSentences);
  EXPECT_LT(estimate, 1.2 * 10 * kSentences);
}

// ---- Beta support: 1M context window activated with correct beta flag

TEST_F(Checklist, BetaSupport) {
  const auto window = [&](const std::string& model, const std::string& betas) {
    const Finished ran = run({"--no-tools", "-m", model, "--set", "context_window=0", "--set",
                              "providers.anthropic.betas=" + betas, "hello"});
    EXPECT_EQ(ran.code, 0) << ran.err;
    return last_event(ran, "run_ended").root()["context"]["window"].uint_or(0);
  };
  EXPECT_EQ(window("claude-sonnet-4-5-20250929", "context-1m-2025-08-07"), 1'000'000u);
  std::string header;
  const Headers sent = model_.calls().back().headers;
  for (const auto& [name, value] : sent)
    if (name == "anthropic-beta") header = value;
  EXPECT_TRUE(has(header, "context-1m-2025-08-07")) << header;
  EXPECT_EQ(window("claude-sonnet-4-5-20250929", ""), 200'000u);
  EXPECT_EQ(window("claude-sonnet-4-5-20250929", "another-beta-2025-01-01"), 200'000u);
  // It is a beta of some models only.
  EXPECT_EQ(window("claude-haiku-4-5-20251001", "context-1m-2025-08-07"), 200'000u);
}

// ---- Message integrity: preserved zone messages unchanged

TEST_F(Checklist, MessageIntegrity) {
  program_.file("utf8.txt", "Grüße, 世界 😀 \\ \"quoted\"\ttab\n");
  model_.say(std::string(24'000, 'a'));
  ASSERT_EQ(run({"one " + std::string(6'000, 'p')}).code, 0);
  model_.call_tool("read_file", R"({"path":"utf8.txt"})").say("Grüße an 世界 😀 " + std::string(4'000, 'b'));
  ASSERT_EQ(run({"--follow", "read utf8.txt ✓"}).code, 0);
  const std::string before = view();
  model_.say("done");
  const Finished ran = run({"--follow", question()});
  ASSERT_EQ(outcomes(ran), "applied") << ran.out;
  const std::string after = view();
  // From the second question to the end of the old view: the same bytes, sequences and times too.
  const std::size_t from = before.rfind("\"seq\"", before.find("read utf8.txt"));
  const std::string tail = before.substr(from, before.rfind("\n    }") - from);
  EXPECT_TRUE(has(tail, "世界 😀"));
  EXPECT_TRUE(has(tail, "tool_result"));
  EXPECT_TRUE(has(after, tail)) << after.substr(0, 3'000);
  EXPECT_FALSE(has(after, std::string(1'000, 'p')));
  expect_good_requests(0);
  const std::string sent = texts_of(model_.calls().back().body);
  EXPECT_TRUE(has(sent, "Grüße, 世界 😀 \\ \"quoted\"\ttab"));
}

// ---- Multi-compact: multiple compactions in one session work correctly

TEST_F(Checklist, MultiCompact) {
  std::string lines;
  for (int i = 0; i < 120; ++i) lines += "line " + std::to_string(i) + std::string(70, 'f') + "\n";
  for (int i = 0; i < 12; ++i) {
    const std::string name = "part" + std::to_string(i) + ".txt";
    program_.file(name, lines);
    model_.call_tool("read_file", R"({"path":")" + name + R"("})");
  }
  model_.say("all read");
  int summaries = 0;
  model_.summaries_by([&](const RecordedRequest& request) {
    return PlayedAnthropic::text_reply(request.body, "SUMMARY-NUMBER-" + std::to_string(++summaries) + ".");
  });
  const Finished ran = run({"read all files"});  // one session, one run
  ASSERT_EQ(ran.code, 0) << ran.err;
  const std::vector<JsonDocument> records = boundaries();
  ASSERT_GE(records.size(), 3u);
  ASSERT_GE(summaries, 2);
  EXPECT_EQ(count_type(ran, "compaction_outcome"), records.size() + attempts());
  EXPECT_EQ(last_event(ran, "run_ended").root()["context"]["compactions"].uint_or(0), records.size());
  // Each summary builds on the one before it, and the view has the last one alone.
  const auto calls = model_.calls_since(0, true);
  for (std::size_t i = 1; i < calls.size(); ++i)
    EXPECT_TRUE(has(calls[i].body, "SUMMARY-NUMBER-" + std::to_string(i) + ".")) << i;
  const std::string now = view();
  EXPECT_TRUE(has(now, "SUMMARY-NUMBER-" + std::to_string(summaries) + "."));
  for (int i = 1; i < summaries; ++i) EXPECT_FALSE(has(now, "SUMMARY-NUMBER-" + std::to_string(i) + "."));
  expect_good_requests(0);
  expect_sound_log();
}

// ---- Cost efficiency: summary generation uses cheaper model (Haiku)

TEST_F(Checklist, CostEfficiency) {
  fill();
  ASSERT_EQ(compact().code, 0);
  for (const auto& call : model_.calls()) {
    const auto body = JsonDocument::parse(call.body);
    ASSERT_TRUE(body);
    EXPECT_EQ(has(call.model, "claude-haiku-5-5"), call.summary) << call.model;
    if (!call.summary) continue;
    EXPECT_EQ(body->root()["max_tokens"].uint_or(0), 4'096u);
    EXPECT_FALSE(body->root()["tools"].exists());
  }
  EXPECT_EQ(model_.calls_since(0, true).size(), 1u);
}

TEST_F(Checklist, CostEfficiency_TheUsersChoiceWins) {
  fill();
  ASSERT_EQ(compact({"--follow", "--set", "compaction.model=claude-haiku-my-own"}).code, 0);
  EXPECT_EQ(model_.calls().back().model, "claude-haiku-my-own");
}

// ---- Graceful degradation: if summary generation fails, fall back to simple truncation

TEST_F(Checklist, GracefulDegradation) {
  fill();
  model_.summaries(Fault::kRefusal);
  model_.say("the answer");
  const Finished ran = run(next(question()));
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(outcomes(ran), "degraded");
  const std::string sent = texts_of(model_.calls().back().body);
  EXPECT_TRUE(has(sent, "FIRST-QUESTION"));  // what the user wants
  EXPECT_FALSE(has(sent, "FIRST-ANSWER"));   // what was cut
  EXPECT_TRUE(has(sent, "SECOND-ANSWER"));   // the tail
  EXPECT_TRUE(has(sent, "left out"));        // and it says so
  EXPECT_TRUE(has(whole_log(), "FIRST-ANSWER"));
  EXPECT_GE(count_type(ran, "warning"), 1u);
}

}  // namespace
}  // namespace agentd::testing
