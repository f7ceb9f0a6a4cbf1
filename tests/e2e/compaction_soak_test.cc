// SPDX-License-Identifier: Apache-2.0
// Many runs of one conversation before a model that refuses what is too long for it, with a
// summariser that fails every third time: no run fails, no request is broken, every attempt has one
// outcome.
#include <gtest/gtest.h>

#include <cstdio>
#include <random>
#include <string>

#include "tests/e2e/compaction_stage.h"

namespace agentd::testing {
namespace {

class Soak : public CompactionStage, public ::testing::WithParamInterface<unsigned> {
 protected:
  std::size_t below(std::size_t limit) { return random_() % limit; }
  void fail_some_summaries() {
    constexpr Fault kFaults[] = {Fault::kServerError, Fault::kEmpty,   Fault::kBlank,        Fault::kRefusal,
                                 Fault::kCutStream,   Fault::kGarbage, Fault::kPromptTooLong};
    model_.summaries(below(3) == 0 ? kFaults[below(std::size(kFaults))] : Fault::kNone);
  }
  // What the model does in this run: some calls, then an answer.
  void plan_a_run() {
    const std::size_t calls = below(4);
    for (std::size_t i = 0; i < calls; ++i)
      model_.call_tool("bash", R"({"command":"seq 1 )" + std::to_string(below(2'000)) + "\"}");
    model_.say("answer " + std::string(below(8'000), 'a'));
  }
  Finished next_run(int number) {
    std::vector<std::string> words{"--allow", "bash", "--follow",
                                   "question " + std::to_string(number) + std::string(below(16'000), 'q')};
    if (number == 0) words.erase(words.begin() + 2);
    return run(words);
  }

  std::mt19937 random_{GetParam()};
};

TEST_P(Soak, EveryRunEndsWell) {
  constexpr int kRuns = 25;
  SCOPED_TRACE("seed " + std::to_string(GetParam()));
  model_.refuse_turns_above(kStageWindow * 4);
  std::size_t told = 0, asked = 0;
  for (int i = 0; i < kRuns && !HasFailure(); ++i) {
    fail_some_summaries();
    plan_a_run();
    if (i == 0) model_.summaries(Fault::kNone);
    const Finished ran = next_run(i);
    EXPECT_EQ(ran.code, 0) << "run " << i << ": " << ran.err;
    told += count_type(ran, "compaction_outcome");
    if (below(6) == 0) {
      const Finished manual = compact();
      EXPECT_TRUE(manual.code == 0 || manual.code == 5) << manual.err;
      EXPECT_EQ(count_type(manual, "compaction_outcome"), 1u);
      told += count_type(manual, "compaction_outcome");
      ++asked;
    }
  }
  std::size_t refused = 0, in_a_row = 0;
  for (const auto& call : model_.calls()) {
    if (call.summary) continue;
    EXPECT_EQ(broken_pairs(call.body), "");
    // What a failed summary left on the wire is nobody's history.
    for (const char* left : {"HALF-A-SUMMARY", "I cannot help with that"})
      EXPECT_EQ(call.body.find(left), std::string::npos) << left;
    refused += call.refused ? 1 : 0;
    in_a_row = call.refused ? in_a_row + 1 : 0;
    EXPECT_LE(in_a_row, 1u) << "an overflow was not met by one retry";
  }
  EXPECT_EQ(told, boundaries().size() + attempts());
  EXPECT_GT(boundaries().size(), 5u);
  expect_sound_log();
  std::printf("%d runs: %zu outcomes (%zu asked for), %zu boundaries, %zu overflows\n", kRuns, told, asked,
              boundaries().size(), refused);
}

INSTANTIATE_TEST_SUITE_P(Seeds, Soak, ::testing::Values(1u, 2u, 3u));

// ---- one message alone is too much

class TooLong : public CompactionStage {};

TEST_F(TooLong, AQuestionThatFitsNowhereIsACleanErrorAndTheConversationGoesOn) {
  model_.refuse_turns_above(kStageWindow * 4);
  const Finished ran = run({"--no-tools", "TOO-LONG " + std::string(100'000, 'q')});
  EXPECT_EQ(ran.code, 5) << ran.err;
  EXPECT_LE(model_.calls().size(), 4u);
  EXPECT_LE(count_type(ran, "compaction_outcome"), 2u);
  const Finished next = run({"--follow", "--no-tools", "a short one"});
  EXPECT_EQ(next.code, 0) << next.err << next.out.substr(0, 2'000);
  expect_sound_log();
}

TEST_F(TooLong, AToolResultThatFitsNowhereEndsTheRunCleanly) {
  model_.refuse_turns_above(kStageWindow * 4);
  std::string lines;
  for (int i = 0; i < 1'500; ++i) lines += std::to_string(i) + std::string(80, 'f') + "\n";
  program_.file("huge.txt", lines);
  model_.call_tool("read_file", R"({"path":"huge.txt"})").say("read");
  const Finished ran = run({"read it"});
  EXPECT_TRUE(ran.code == 0 || ran.code == 5) << ran.err;
  EXPECT_LE(model_.calls().size(), 6u);
  for (const auto& call : model_.calls_since(0, false)) EXPECT_EQ(broken_pairs(call.body), "");
  const Finished next = run({"--follow", "a short one"});
  EXPECT_EQ(next.code, 0) << next.err << next.out.substr(0, 2'000);
  expect_sound_log();
}

// ---- compaction that wins nothing

// The tail and a summary that grows from time to time fill the window again and again: it is said who
// fills it, and it pauses.
TEST_F(TooLong, CompactionThatFreesNothingIsPausedAndSaysWhatFillsTheWindow) {
  std::string said;
  std::size_t tried = 0, warned_in = 0;
  for (std::size_t i = 1; i <= 14; ++i) {
    const std::size_t bytes = i <= 6 ? 4'000 : 700;
    model_.summaries(Fault::kNone, "LONG-SUMMARY " + std::string(9'000 + 7'000 * tried, 's'));
    model_.say("answer " + std::string(bytes, 'a'));
    std::vector<std::string> words{"--no-tools", "question " + std::string(bytes, 'q')};
    if (i != 1) words.insert(words.begin(), "--follow");
    const Finished ran = run(words);
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_TRUE(warned_in == 0 || outcomes(ran).empty()) << "run " << i << " tried again";
    tried += count_type(ran, "compaction_outcome");
    for (const JsonDocument& line : json_lines(ran.out)) {
      const std::string text(line.root()["text"].string_or(""));
      if (line.root()["type"].string_or("") != "warning" || text.find("paus") == std::string::npos) continue;
      warned_in = i;
      said += text + "\n";
    }
  }
  EXPECT_GE(tried, 2u);
  EXPECT_LE(tried, 4u);
  ASSERT_NE(warned_in, 0u) << "nobody said that it pauses";
  EXPECT_NE(said.find("summary"), std::string::npos) << said;
  EXPECT_NE(said.find("user"), std::string::npos) << said;
  expect_sound_log();
}

}  // namespace
}  // namespace agentd::testing
