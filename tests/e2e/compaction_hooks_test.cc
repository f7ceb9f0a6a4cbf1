// SPDX-License-Identifier: Apache-2.0
// before_compaction and after_compaction as their specification promises them: veto, summary of a
// hook, counts from before, overflow that never loops, and the sequence of events when nobody
// listens.
#include <gtest/gtest.h>

#include <string>

#include "tests/e2e/compaction_stage.h"

namespace agentd::testing {
namespace {

class CompactionHooks : public CompactionStage {
 protected:
  std::vector<std::string> next(const std::string& words = "go on") const { return {"--follow", "--no-tools", words}; }
  static std::string statuses(const Finished& ran) {
    std::string out;
    for (const JsonDocument& line : json_lines(ran.out))
      if (line.root()["type"].string_or("") == "status") out += std::string(line.root()["status"].string_or("?")) + " ";
    return out;
  }
  // Types in order; a compact_boundary by its subtype.
  static std::string sequence(const Finished& ran) {
    std::string out;
    for (const JsonDocument& line : json_lines(ran.out)) {
      const std::string_view subtype = line.root()["subtype"].string_or("");
      const std::string_view type = line.root()["type"].string_or("?");
      out += (out.empty() ? "" : " ") + std::string(subtype.empty() ? type : subtype);
      if (type == "compaction_outcome") out += ":" + std::string(line.root()["outcome"].string_or("?"));
      if (type == "status") out += ":" + std::string(line.root()["status"].string_or("?"));
    }
    return out;
  }
  static std::size_t count(const std::string& text, const std::string& part) {
    std::size_t found = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
    return found;
  }
};

// ---- a veto skips everything

TEST_F(CompactionHooks, AVetoOfARequestSkipsEverythingAndShowsNoStart) {
  fill();
  record_events({"after_compaction", "session_start"});
  yaml_hook("deny", "on: before_compaction\ndo: {action: block, reason: not in the middle of a demo}\n");
  const std::string before = view();
  const std::size_t calls = model_.calls().size();
  const Finished ran = compact();
  EXPECT_EQ(ran.code, 3) << ran.err;
  EXPECT_NE(ran.err.find("not in the middle of a demo"), std::string::npos) << ran.err;
  EXPECT_EQ(outcomes(ran), "vetoed");
  EXPECT_EQ(statuses(ran), "");
  EXPECT_EQ(ran.out.find("compact_boundary"), std::string::npos);
  EXPECT_EQ(model_.calls().size(), calls);
  EXPECT_EQ(view(), before);
  EXPECT_TRUE(recorded("after_compaction").empty());
  for (const JsonDocument& start : recorded("session_start"))
    EXPECT_NE(start.root()["source"].string_or(""), "compact");
}

TEST_F(CompactionHooks, AVetoAtTheThresholdLetsTheRunGoOn) {
  fill();
  yaml_hook("deny", "on: before_compaction\ndo: {action: block, reason: later}\n");
  const Finished ran = run(next(question()));
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(outcomes(ran), "vetoed");
  EXPECT_EQ(statuses(ran), "");
  EXPECT_TRUE(model_.calls_since(0, true).empty());
  EXPECT_NE(texts_of(model_.calls().back().body).find("FIRST-ANSWER"), std::string::npos);
}

TEST_F(CompactionHooks, ExitCodeTwoOfADockerHookIsAVeto) {
  fill();
  const std::string agent = program_.directory().write(
      "agent.yaml", "hooks:\n  before_compaction:\n    - type: command\n      command: \"cat > " +
                        program_.directory().file("stdin") + "; echo no >&2; exit 2\"\n");
  const Finished ran = compact({"--follow", "--set", "hooks.adapt=docker:" + agent});
  EXPECT_EQ(ran.code, 3) << ran.err;
  EXPECT_EQ(outcomes(ran), "vetoed");
  const auto input = JsonDocument::parse(program_.directory().read("stdin"));
  ASSERT_TRUE(input) << program_.directory().read("stdin");
  EXPECT_EQ(input->root()["compaction_reason"].string_or(""), "manual");
  EXPECT_GT(input->root()["context_limit"].uint_or(0), 0u);
  EXPECT_TRUE(input->root()["input_tokens"].is_number());
  EXPECT_TRUE(input->root()["output_tokens"].is_number());
}

// ---- a hook's own summary

TEST_F(CompactionHooks, AHookSummaryIsAppliedVerbatimWithoutAModelCall) {
  fill();
  record_events({"after_compaction"});
  const std::string words = "  Deterministic: 世界, \\\"quotes\\\" and all.  ";
  yaml_hook("own", "on: before_compaction\ndo: {action: summary, summary: \"" + words + "\"}\n");
  const std::string verbatim = "  Deterministic: 世界, \"quotes\" and all.  ";
  const std::size_t calls = model_.calls().size();
  const Finished ran = compact();
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(outcomes(ran), "applied");
  EXPECT_EQ(model_.calls().size(), calls);
  const auto told = recorded("after_compaction");
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].root()["summary"].string_or(""), verbatim);
  EXPECT_EQ(told[0].root()["method"].string_or(""), "hook");
  const auto records = boundaries();
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].root()["payload"]["method"].string_or(""), "hook");
  EXPECT_EQ(records[0].root()["payload"]["model"].string_or(""), "");
  EXPECT_NE(records[0].root()["payload"]["author"].string_or(""), "");
  ASSERT_EQ(run(next()).code, 0);
  EXPECT_NE(texts_of(model_.calls().back().body).find(verbatim), std::string::npos);
}

TEST_F(CompactionHooks, TheFirstNonEmptySummaryInOrderWins) {
  fill();
  executable_hook("a_silent", "before_compaction",
                  "    cat > /dev/null; echo '{\"action\": \"summary\", \"summary\": \"\"}'");
  yaml_hook("b_first", "on: before_compaction\ndo: {action: summary, summary: FROM-B}\n");
  yaml_hook("c_second", "on: before_compaction\ndo: {action: summary, summary: FROM-C}\n");
  const Finished ran = compact({"--follow", "--set", "hooks.order=a_silent,b_first,c_second"});
  ASSERT_EQ(outcomes(ran), "applied") << ran.out << ran.err;
  EXPECT_NE(view().find("FROM-B"), std::string::npos);
  EXPECT_EQ(view().find("FROM-C"), std::string::npos);
  EXPECT_TRUE(model_.calls_since(0, true).empty());
  // The loser is told, the silent one is none.
  EXPECT_EQ(count_type(ran, "hook_conflict"), 1u) << ran.out;
}

TEST_F(CompactionHooks, TheOrderOfTheConfigurationDecidesAndNotTheNames) {
  fill();
  yaml_hook("b_first", "on: before_compaction\ndo: {action: summary, summary: FROM-B}\n");
  yaml_hook("c_second", "on: before_compaction\ndo: {action: summary, summary: FROM-C}\n");
  const Finished ran = compact({"--follow", "--set", "hooks.order=c_second,b_first"});
  ASSERT_EQ(outcomes(ran), "applied") << ran.out << ran.err;
  EXPECT_NE(view().find("FROM-C"), std::string::npos);
}

TEST_F(CompactionHooks, BlankSummariesOfHooksLeaveItToTheModel) {
  fill();
  executable_hook("blank", "before_compaction",
                  "    cat > /dev/null; echo '{\"action\": \"summary\", \"summary\": \" \\n \"}'");
  const Finished ran = compact();
  ASSERT_EQ(outcomes(ran), "applied") << ran.out << ran.err;
  EXPECT_EQ(model_.calls_since(0, true).size(), 1u);
  EXPECT_NE(view().find(kSummaryText), std::string::npos);
}

TEST_F(CompactionHooks, InstructionsAreTheCommandLinesFirstAndThenTheHooksInOrder) {
  fill();
  yaml_hook("a", "on: before_compaction\ndo: {custom_instructions: FROM-HOOK-A}\n");
  yaml_hook("b", "on: before_compaction\ndo: {custom_instructions: FROM-HOOK-B}\n");
  ASSERT_EQ(outcomes(compact({"--follow", "--instructions", "FROM-THE-USER"})), "applied");
  const std::string asked = texts_of(model_.calls().back().body);
  const std::size_t user = asked.find("FROM-THE-USER"), first = asked.find("FROM-HOOK-A"),
                    second = asked.find("FROM-HOOK-B");
  ASSERT_NE(user, std::string::npos);
  ASSERT_NE(first, std::string::npos);
  ASSERT_NE(second, std::string::npos);
  EXPECT_LT(user, first);
  EXPECT_LT(first, second);
}

// ---- what after_compaction is told

TEST_F(CompactionHooks, AfterCompactionGetsTheCountsFromBefore) {
  model_.say("hello there " + std::string(3'000, 'a'), 1'234, 567);
  ASSERT_EQ(run({"--no-tools", "hello"}).code, 0);
  record_events({"after_compaction"});
  ASSERT_EQ(outcomes(compact()), "applied");
  const auto told = recorded("after_compaction");
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].root()["input_tokens"].uint_or(0), 1'234u);
  EXPECT_EQ(told[0].root()["output_tokens"].uint_or(0), 567u);
  EXPECT_EQ(told[0].root()["pre_tokens"].uint_or(0), 1'801u);
  EXPECT_GT(told[0].root()["post_tokens"].uint_or(0), 0u);
  EXPECT_EQ(told[0].root()["summary"].string_or(""), kSummaryText);
  EXPECT_TRUE(told[0].root()["duration_ms"].is_number());
  // What the compaction itself cost is told apart.
  EXPECT_GT(told[0].root()["usage"]["input_tokens"].uint_or(0), 0u);
}

TEST_F(CompactionHooks, WhatAfterCompactionAnswersChangesNothing) {
  fill();
  executable_hook("late", "after_compaction",
                  "    cat > /dev/null; echo '{\"action\": \"block\", \"reason\": \"too late\"}'");
  const Finished ran = compact();
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(outcomes(ran), "applied");
  EXPECT_NE(view().find(kSummaryText), std::string::npos);
}

// ---- overflow: at most one retry

TEST_F(CompactionHooks, OverflowIsRetriedOnceAndThenACleanError) {
  fill();
  for (int i = 0; i < 10; ++i) model_.overflow();
  const std::size_t first = model_.calls().size();
  const Finished ran = run(next());
  EXPECT_EQ(ran.code, 5) << ran.err;
  EXPECT_EQ(model_.calls_since(first, false).size(), 2u);
  EXPECT_LE(model_.calls_since(first, true).size(), 1u);
  EXPECT_EQ(outcomes(ran), "applied");
  EXPECT_EQ(count(ran.err, "agentd: "), 1u) << ran.err;
  EXPECT_NE(ran.err.find("prompt is too long"), std::string::npos) << ran.err;
  EXPECT_NE(ran.out.find("\"outcome\":\"error\""), std::string::npos);
  expect_sound_log();
}

TEST_F(CompactionHooks, OverflowWithAHookThatAlwaysDeniesEndsInACleanError) {
  fill();
  for (int i = 0; i < 10; ++i) model_.overflow();
  record_events({"before_compaction", "after_compaction"});
  yaml_hook("deny", "on: before_compaction\ndo: {action: block, reason: never}\n");
  const std::size_t first = model_.calls().size();
  const Finished ran = run(next());
  EXPECT_EQ(ran.code, 5) << ran.err;
  EXPECT_LE(model_.calls_since(first, false).size(), 2u);
  EXPECT_TRUE(model_.calls_since(first, true).empty());
  EXPECT_EQ(outcomes(ran).find("applied"), std::string::npos);
  EXPECT_NE(outcomes(ran), "");
  EXPECT_LE(count(outcomes(ran), "vetoed"), 2u);
  EXPECT_EQ(count(ran.err, "agentd: "), 1u) << ran.err;
  EXPECT_TRUE(recorded("after_compaction").empty());
  // The conversation is as it was and goes on when the hook is gone.
  EXPECT_NE(view().find("FIRST-ANSWER"), std::string::npos);
}

TEST_F(CompactionHooks, AHookMayDenyByTheReason) {
  fill();
  yaml_hook("deny", "on: before_compaction\nwhen: reason == \"threshold\"\ndo: {action: block, reason: no}\n");
  model_.overflow().say("the answer");
  const Finished ran = run(next());
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(outcomes(ran), "applied");
}

// ---- nobody listens

TEST_F(CompactionHooks, WithoutHooksTheSequenceOfARequestIsTheGoldenOne) {
  fill();
  const Finished ran = compact({"--follow", "--no-hooks"});
  EXPECT_EQ(sequence(ran), "status:compacting compact_boundary compaction_outcome:applied compaction_result");
}

TEST_F(CompactionHooks, WithoutHooksTheSequenceOfARunIsTheGoldenOne) {
  fill();
  std::vector<std::string> words = next(question());
  words.push_back("--no-hooks");
  EXPECT_EQ(sequence(run(words)),
            "run_started user_message turn_started status:compacting compact_boundary "
            "compaction_outcome:applied text_delta turn_ended run_ended");
}

// ---- the reason is the true one

TEST_F(CompactionHooks, TheReasonIsTruthfulAtEveryDoor) {
  fill();
  record_events({"before_compaction"});
  ASSERT_EQ(outcomes(run(next(question()))), "applied");
  model_.say(std::string(8'000, 'c'));
  ASSERT_EQ(run(next("more " + std::string(4'000, 'm'))).code, 0);
  model_.overflow();
  ASSERT_EQ(outcomes(run(next())), "applied");
  ASSERT_EQ(outcomes(compact()), "applied");
  std::string reasons;
  for (const JsonDocument& asked : recorded("before_compaction"))
    reasons += std::string(asked.root()["reason"].string_or("?")) + " ";
  EXPECT_EQ(reasons, "threshold overflow manual ");
}

}  // namespace
}  // namespace agentd::testing
