// SPDX-License-Identifier: Apache-2.0
// Every way in which a summary can fail, at every door of compaction, through the built program:
// what is automatic goes on with a shorter view, what somebody asked for leaves the view as it was.
#include <gtest/gtest.h>

#include <string>

#include "tests/e2e/compaction_stage.h"

namespace agentd::testing {
namespace {

enum class Door { kPreRequest, kMidTurn, kPostTurn, kStandalone, kOverflow };

struct DoorFacts {
  const char* name;
  const char *trigger, *reason, *phase, *strategy;
  bool automatic;  // a failed summary ends degraded, not failed
};

DoorFacts facts_of(Door door) {
  switch (door) {
    case Door::kPreRequest:
      return {"PreRequest", "auto", "threshold", "pre_request", "tail", true};
    case Door::kMidTurn:
      return {"MidTurn", "auto", "threshold", "mid_turn", "tail", true};
    case Door::kPostTurn:
      return {"PostTurn", "auto", "hook", "post_turn", "full", false};
    case Door::kStandalone:
      return {"Standalone", "manual", "manual", "standalone", "full", false};
    case Door::kOverflow:
      return {"Overflow", "auto", "overflow", "overflow", "tail", true};
  }
  return {};
}

const char* name_of(Fault fault) {
  switch (fault) {
    case Fault::kNone:
      return "Nothing";
    case Fault::kServerError:
      return "ServerError";
    case Fault::kOverloaded:
      return "Overloaded";
    case Fault::kNeverAnswers:
      return "NeverAnswers";
    case Fault::kEmpty:
      return "Empty";
    case Fault::kBlank:
      return "Blank";
    case Fault::kRefusal:
      return "Refusal";
    case Fault::kCutStream:
      return "CutStream";
    case Fault::kGarbage:
      return "Garbage";
    case Fault::kPromptTooLong:
      return "PromptTooLong";
  }
  return "?";
}

// What a failed summary left on the wire must never reach a request, a view or a hook.
constexpr const char* kLeftovers[] = {"HALF-A-SUMMARY", "I cannot help with that"};

class Faults : public CompactionStage, public ::testing::WithParamInterface<std::tuple<Door, Fault>> {
 protected:
  void prepare() {
    fill();
    // Short for the one who waits for nothing, long enough for a busy machine.
    if (fault_ == Fault::kNeverAnswers) program_.set("AGENTD_PROVIDERS_ANTHROPIC_IDLE_TIMEOUT_MS=2500");
    record_events({"before_compaction", "after_compaction", "session_start"});
    if (door_ == Door::kPostTurn) yaml_hook("ask", "on: agent_stop\ndo: compact\n");
    // With it a run that has tools is between the threshold and the force line.
    std::string lines;
    for (int i = 0; i < 15; ++i) lines += std::to_string(i) + std::string(80, 'f') + "\n";
    program_.file("big.txt", lines);
    before_ = view();
    first_ = model_.calls().size();
    model_.summaries(fault_);
  }
  Finished open_door() {
    switch (door_) {
      case Door::kPreRequest:
        model_.say("the answer");
        return run({"--follow", "--no-tools", question()});
      case Door::kMidTurn:
        model_.call_tool("read_file", R"({"path":"big.txt"})").say("the answer");
        return run({"--follow", "read it"});
      case Door::kPostTurn:
        model_.say("the answer");
        return run({"--follow", "--no-tools", "a short question"});
      case Door::kStandalone:
        return compact();
      case Door::kOverflow:
        model_.overflow().say("the answer");
        return run({"--follow", "--no-tools", "a short question"});
    }
    return {};
  }
  std::string messages_only(const std::string& shown) const { return shown.substr(0, shown.rfind("\n  ]")); }

  const Door door_ = std::get<0>(GetParam());
  const Fault fault_ = std::get<1>(GetParam());
  const DoorFacts facts_ = facts_of(door_);
  std::string before_;
  std::size_t first_ = 0;

  // Trouble that passes is waited for by the doors that have room left.
  bool waited_for() const {
    const bool passes = fault_ == Fault::kServerError || fault_ == Fault::kOverloaded ||
                        fault_ == Fault::kNeverAnswers || fault_ == Fault::kCutStream;
    return passes && (door_ == Door::kPreRequest || door_ == Door::kMidTurn);
  }
  void expect_unchanged(const Finished& ran);
  void expect_mended();
  void expect_shorter(const Finished& ran, bool summarised);
  void expect_boundary(const JsonView& record, const JsonView& message, bool summarised);
  void expect_hooks(const std::string& result);
  void expect_next_run_works();
};

// ---- somebody asked, and it failed

void Faults::expect_unchanged(const Finished& ran) {
  EXPECT_EQ(ran.code, door_ == Door::kStandalone ? 5 : 0) << ran.err;
  EXPECT_EQ(outcomes(ran), "failed") << ran.out;
  EXPECT_EQ(ran.out.find("compact_boundary"), std::string::npos);
  EXPECT_TRUE(boundaries().empty());
  EXPECT_EQ(attempts(), 1u);
  const std::string now = view();
  if (door_ == Door::kStandalone) {
    EXPECT_EQ(now, before_);
    EXPECT_NE(ran.err.find("it is unchanged"), std::string::npos) << ran.err;
  } else {
    // The run's own messages came to it, nothing else.
    EXPECT_EQ(now.substr(0, messages_only(before_).size()), messages_only(before_));
    EXPECT_NE(now.find("the answer"), std::string::npos);
  }
  EXPECT_EQ(now.find("\"summary\""), std::string::npos) << now;
  EXPECT_EQ(recorded("before_compaction").size(), 1u);
  EXPECT_TRUE(recorded("after_compaction").empty());
  for (const JsonDocument& start : recorded("session_start"))
    EXPECT_NE(start.root()["source"].string_or(""), "compact");
}

// ---- the view is another one

void Faults::expect_shorter(const Finished& ran, bool summarised) {
  ASSERT_EQ(ran.code, 0) << ran.err;
  const std::string result = summarised ? "applied" : "degraded";
  ASSERT_EQ(outcomes(ran), result) << ran.out << ran.err;
  const JsonDocument message = boundary_message(ran);
  const std::vector<JsonDocument> records = boundaries();
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(attempts(), 0u);
  expect_boundary(records[0].root()["payload"], message.root(), summarised);
  expect_hooks(result);
  const std::string now = view();
  EXPECT_EQ(now.find("FIRST-ANSWER"), std::string::npos);
  EXPECT_EQ(now.find(kSummaryText) != std::string::npos, summarised);
  if (facts_.automatic) {
    EXPECT_NE(ran.out.find("the answer"), std::string::npos);
    expect_good_requests(first_ + (door_ == Door::kOverflow ? 1 : 0));
  }
  // What stands in place of the history is told as what it is.
  if (!summarised) {
    EXPECT_NE(now.find("left out"), std::string::npos) << now.substr(0, 2000);
    EXPECT_NE(now.find("FIRST-QUESTION"), std::string::npos);
    EXPECT_GE(count_type(ran, "warning"), 1u) << ran.out;
  }
}

void Faults::expect_boundary(const JsonView& record, const JsonView& message, bool summarised) {
  EXPECT_EQ(record["trigger"].string_or(""), facts_.trigger);
  EXPECT_EQ(record["reason"].string_or(""), facts_.reason);
  EXPECT_EQ(record["phase"].string_or(""), facts_.phase);
  EXPECT_EQ(record["strategy"].string_or(""), facts_.strategy);
  EXPECT_EQ(record["result"].string_or(""), summarised ? "applied" : "degraded");
  EXPECT_EQ(record["method"].string_or(""), summarised ? "summary" : "truncate");
  // No model made what is no summary.
  const std::string model(record["model"].string_or(""));
  EXPECT_EQ(model.find("haiku") != std::string::npos, summarised) << model;
  EXPECT_EQ(model.empty(), !summarised) << model;
  const std::uint64_t pre = record["pre_tokens"].uint_or(0), post = record["post_tokens"].uint_or(0);
  EXPECT_GT(pre, 10'000u);
  EXPECT_GT(post, 0u);
  EXPECT_LT(post, pre);
  EXPECT_LE(post, kStageLimit);
  EXPECT_TRUE(record["duration_ms"].is_number());
  EXPECT_GE(record["duration_ms"].uint_or(0), fault_ == Fault::kNeverAnswers ? 1'000u : 0u);
  // The message that surfaces see says the same.
  const JsonView told = message["compact_metadata"];
  EXPECT_EQ(told["id"].string_or("?"), record["id"].string_or(""));
  EXPECT_EQ(message["session_id"].string_or("?"), record["session_id"].string_or(""));
  for (const char* key : {"trigger", "method", "reason"})
    EXPECT_EQ(told[key].string_or("?"), record[key].string_or("")) << key;
  for (const char* key : {"pre_tokens", "post_tokens"}) EXPECT_EQ(told[key].uint_or(1), record[key].uint_or(0)) << key;
}

void Faults::expect_hooks(const std::string& result) {
  const auto asked = recorded("before_compaction"), told = recorded("after_compaction");
  ASSERT_EQ(asked.size(), 1u);
  ASSERT_EQ(told.size(), 1u);
  for (const JsonDocument* one : {&asked[0], &told[0]}) {
    EXPECT_EQ(one->root()["trigger"].string_or(""), facts_.trigger);
    EXPECT_EQ(one->root()["reason"].string_or(""), facts_.reason);
    EXPECT_EQ(one->root()["phase"].string_or(""), facts_.phase);
  }
  EXPECT_EQ(told[0].root()["result"].string_or(""), result);
  const auto records = boundaries();
  EXPECT_EQ(told[0].root()["boundary_id"].string_or("?"), records[0].root()["payload"]["id"].string_or(""));
  EXPECT_EQ(told[0].root()["pre_tokens"].uint_or(1), records[0].root()["payload"]["pre_tokens"].uint_or(0));
  EXPECT_EQ(asked[0].root()["tokens"].uint_or(1), told[0].root()["pre_tokens"].uint_or(0));
  std::size_t after_compact = 0;
  for (const JsonDocument& start : recorded("session_start"))
    if (start.root()["source"].string_or("") == "compact") ++after_compact;
  EXPECT_EQ(after_compact, 1u);
}

// ---- afterwards

// The next turn finds the model well again, and a summary takes the place of what was kept until
// then.
void Faults::expect_mended() {
  model_.summaries(Fault::kNone);
  model_.say("the next answer");
  const Finished next = run({"--follow", "--no-tools", "and now?"});
  EXPECT_EQ(next.code, 0) << next.err;
  EXPECT_EQ(outcomes(next), "applied") << next.out;
  ASSERT_EQ(boundaries().size(), 1u);
  EXPECT_EQ(boundaries()[0].root()["payload"]["method"].string_or(""), "summary");
  const std::string now = view();
  EXPECT_NE(now.find(kSummaryText), std::string::npos);
  EXPECT_EQ(now.find("left out"), std::string::npos);
}

void Faults::expect_next_run_works() {
  model_.summaries(Fault::kNone);
  const std::string same = id();
  const std::size_t first = model_.calls().size();
  model_.say("still here");
  const Finished next = run({"--follow", "--no-tools", "are you there?"});
  EXPECT_EQ(next.code, 0) << next.err;
  EXPECT_EQ(id(), same);
  expect_good_requests(first);
  for (const auto& call : model_.calls_since(first, false))
    for (const char* left : kLeftovers) EXPECT_EQ(call.body.find(left), std::string::npos) << left;
}

TEST_P(Faults, EndsInOneTruthfulOutcome) {
  ASSERT_NO_FATAL_FAILURE(prepare());
  const Finished ran = open_door();
  const bool summarised = fault_ == Fault::kNone;
  if (summarised || (facts_.automatic && !waited_for()))
    expect_shorter(ran, summarised);
  else
    expect_unchanged(ran);
  EXPECT_GE(model_.calls_since(first_, true).size(), 1u);
  for (const char* left : kLeftovers) EXPECT_EQ(view().find(left), std::string::npos) << left;
  expect_sound_log();
  if (waited_for()) expect_mended();
  expect_next_run_works();
  expect_sound_log();
}

INSTANTIATE_TEST_SUITE_P(Doors, Faults,
                         ::testing::Combine(::testing::Values(Door::kPreRequest, Door::kMidTurn, Door::kPostTurn,
                                                              Door::kStandalone, Door::kOverflow),
                                            ::testing::Values(Fault::kNone, Fault::kServerError, Fault::kOverloaded,
                                                              Fault::kNeverAnswers, Fault::kEmpty, Fault::kBlank,
                                                              Fault::kRefusal, Fault::kCutStream, Fault::kGarbage,
                                                              Fault::kPromptTooLong)),
                         [](const auto& cell) {
                           return std::string(facts_of(std::get<0>(cell.param)).name) +
                                  name_of(std::get<1>(cell.param));
                         });

// ---- a summary that ran into its longest length

class CutSummary : public CompactionStage {
 protected:
  // The first answers that are asked for are cut, so many of them.
  void cut_first(int count) {
    model_.summaries_by([this, count](const RecordedRequest& request) {
      return ++asked_ <= count ? PlayedAnthropic::text_reply(request.body, "CUT-SUMMARY of", "max_tokens")
                               : PlayedAnthropic::text_reply(request.body, kSummaryText);
    });
  }
  int asked_ = 0;
};

TEST_F(CutSummary, IsNoneOnRequestAndTheViewStaysAsItWas) {
  fill();
  const std::string before = view();
  cut_first(2);
  const Finished ran = compact();
  EXPECT_EQ(ran.code, 5) << ran.out;
  EXPECT_EQ(outcomes(ran), "failed");
  EXPECT_NE(ran.err.find("raise compaction.summary_tokens"), std::string::npos) << ran.err;
  EXPECT_EQ(asked_, 2);
  EXPECT_EQ(view(), before);
  EXPECT_EQ(run({"-r", "compact", "--follow"}).code, 0) << "its own answer is whole";
}

TEST_F(CutSummary, IsAskedForOnceMoreAndThenWhole) {
  fill();
  cut_first(1);
  const Finished ran = compact();
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(outcomes(ran), "applied");
  EXPECT_EQ(asked_, 2);
  EXPECT_EQ(view().find("CUT-SUMMARY"), std::string::npos);
}

TEST_F(CutSummary, IsDegradedAndToldWhenTheContextIsFull) {
  fill();
  cut_first(2);
  model_.say("the answer");
  const Finished ran = run({"--follow", "--no-tools", question()});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(outcomes(ran), "degraded");
  ASSERT_EQ(boundaries().size(), 1u);
  EXPECT_EQ(boundaries()[0].root()["payload"]["result"].string_or(""), "degraded");
  EXPECT_GE(count_type(ran, "warning"), 1u);
  EXPECT_NE(view().find("CUT-SUMMARY of"), std::string::npos);
  EXPECT_NE(view().find("The summary ends here"), std::string::npos);
}

// ---- a window that is smaller than it was said to be

class SmallSummariser : public CompactionStage {
 protected:
  // A summariser that takes 8,000 bytes and writes down which of the words it saw.
  void small_window() {
    model_.summaries_by([this](const RecordedRequest& request) {
      if (request.body.size() > kBytes) {
        ++refused_;
        return PlayedAnthropic::too_long();
      }
      std::string summary = "PARTS";
      for (const char* word : {"FIRST-QUESTION", "FIRST-ANSWER", "SECOND-QUESTION", "SECOND-ANSWER"})
        if (request.body.find(word) != std::string::npos) summary += std::string(" ") + word;
      return PlayedAnthropic::text_reply(request.body, summary);
    });
  }
  void expect_chunks(const Finished& ran) {
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(outcomes(ran), "applied") << ran.out;
    EXPECT_GE(refused_, 1);
    const auto records = boundaries();
    ASSERT_EQ(records.size(), 1u);
    EXPECT_EQ(records[0].root()["payload"]["method"].string_or(""), "chunked");
    const auto calls = model_.calls_since(0, true);
    EXPECT_GE(calls.size(), 4u);
    expect_sound_log();
  }
  static constexpr std::size_t kBytes = 12'000;
  int refused_ = 0;
};

TEST_F(SmallSummariser, ARequestIsMadeInPartsAndLosesNoWord) {
  fill();
  small_window();
  expect_chunks(compact());
  for (const char* word : {"FIRST-QUESTION", "FIRST-ANSWER", "SECOND-QUESTION", "SECOND-ANSWER"})
    EXPECT_NE(view().find(word), std::string::npos) << word;
}

TEST_F(SmallSummariser, AnAutomaticDoorDoesTheSameAndTheRunGoesOn) {
  fill();
  small_window();
  model_.say("the answer");
  const std::size_t first = model_.calls().size();
  const Finished ran = run({"--follow", "--no-tools", question()});
  expect_chunks(ran);
  EXPECT_NE(view().find("PARTS FIRST-QUESTION FIRST-ANSWER"), std::string::npos);
  expect_good_requests(first);
}

TEST_F(SmallSummariser, AFailureInTheMiddleOfThePartsIsOneFailure) {
  fill();
  int parts = 0;
  model_.summaries_by([&](const RecordedRequest& request) {
    if (request.body.size() > kBytes) return PlayedAnthropic::too_long();
    if (++parts >= 2) return Reply::http(500, {}, "oops");
    return PlayedAnthropic::text_reply(request.body, "HALF-A-SUMMARY of part");
  });
  const std::string before = view();
  const Finished ran = compact();
  EXPECT_EQ(ran.code, 5) << ran.err;
  EXPECT_EQ(outcomes(ran), "failed");
  EXPECT_EQ(view(), before);
  model_.say("the answer");
  const Finished automatic = run({"--follow", "--no-tools", question()});
  EXPECT_EQ(automatic.code, 0) << automatic.err;
  EXPECT_NE(outcomes(automatic), "");
  expect_sound_log();
}

// ---- what no compaction can remove

// AGENTS.md alone is over the threshold: to compact again and again would win nothing.
TEST_F(SmallSummariser, AFloorThatIsTooHighIsToldAndNeverLoops) {
  program_.file("AGENTS.md", "ALWAYS-HEED this\n" + std::string(52'000, 'x'));
  std::string said;
  for (int i = 0; i < 4; ++i) {
    std::vector<std::string> words{"--no-tools", "question " + std::to_string(i)};
    if (i != 0) words.insert(words.begin(), "--follow");
    const Finished ran = run(words);
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_LE(count_type(ran, "compaction_outcome"), 1u);
    said += ran.out;
  }
  EXPECT_LE(model_.calls_since(0, true).size(), 2u);
  EXPECT_EQ(model_.calls_since(0, false).size(), 4u);
  EXPECT_NE(said.find("system prompt"), std::string::npos) << "nobody said what fills the window";
  // The rules are in every request, whatever was tried.
  for (const auto& call : model_.calls_since(0, false)) EXPECT_NE(call.body.find("ALWAYS-HEED"), std::string::npos);
}

TEST_F(SmallSummariser, RulesSurviveEveryCompactionWordForWord) {
  program_.file("AGENTS.md", "ALWAYS-HEED: Grüße 世界, tabs\tand all\n");
  fill();
  ASSERT_EQ(outcomes(compact()), "applied");
  ASSERT_EQ(run({"--follow", "--no-tools", "and now"}).code, 0);
  const auto body = JsonDocument::parse(model_.calls().back().body);
  ASSERT_TRUE(body);
  EXPECT_NE(body->root()["system"].text().find("ALWAYS-HEED: Grüße 世界, tabs\\tand all"), std::string::npos)
      << body->root()["system"].text();
}

}  // namespace
}  // namespace agentd::testing
