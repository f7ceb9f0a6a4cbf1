// SPDX-License-Identifier: Apache-2.0
// Compaction as recipes and hooks ask for it: the recipe that swaps the context, the user's own
// prompt, the flags and words of `compact`, and what hooks may answer when the agent stops.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "core/base/file.h"
#include "tests/e2e/compaction_stage.h"

namespace agentd::testing {
namespace {

class CompactionRecipes : public CompactionStage {
 protected:
  std::vector<std::string> next(const std::string& words = "go on") const { return {"--follow", "--no-tools", words}; }
  void recipe(const std::string& name, const std::string& text) const {
    ASSERT_TRUE(make_directories(program_.home() + "/recipes"));
    ASSERT_TRUE(write_file_atomically(program_.home() + "/recipes/" + name + ".md", text, 0644));
  }
  // An executable that answers agent_stop with this line, the first time of a run.
  void at_stop(const std::string& answer) const {
    executable_hook("answers", "agent_stop",
                    "    payload=$(cat)\n    if [ \"$(echo \"$payload\" | grep -c "
                    "'\"continuation\":0')\" = 1 ]; then\n      echo '" +
                        answer + "'\n    fi");
  }
  std::string last_request() const { return texts_of(model_.calls().back().body); }
};

// ---- run -r compact

TEST_F(CompactionRecipes, TheCompactRecipeIsOneCallWithoutToolsAndSwapsTheContext) {
  fill();
  const std::string same = id();
  const std::size_t first = model_.calls().size();
  model_.say("THE-RECIPE'S-SUMMARY");
  const Finished ran = run({"-r", "compact", "--follow", "Focus on the kubernetes deployment changes"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const auto calls = model_.calls();
  ASSERT_EQ(calls.size(), first + 1);
  const auto body = JsonDocument::parse(calls.back().body);
  EXPECT_FALSE(body->root()["tools"].exists()) << "tools are offered";
  EXPECT_TRUE(has(calls.back().body, "Focus on the kubernetes deployment changes"));
  EXPECT_TRUE(has(calls.back().body, "FIRST-ANSWER"));
  EXPECT_EQ(outcomes(ran), "applied");
  ASSERT_EQ(boundaries().size(), 1u);
  // The conversation goes on as the same one, from the summary alone.
  model_.say("done");
  ASSERT_EQ(run(next("Now implement the next feature")).code, 0);
  EXPECT_EQ(id(), same);
  EXPECT_TRUE(has(last_request(), "THE-RECIPE'S-SUMMARY"));
  EXPECT_FALSE(has(last_request(), "FIRST-ANSWER"));
  EXPECT_FALSE(has(last_request(), "SECOND-QUESTION"));
  expect_sound_log();
}

TEST_F(CompactionRecipes, AVetoOfTheCompactRecipeIsNoCallAndExitThree) {
  fill();
  yaml_hook("deny", "on: before_compaction\ndo: {action: block, reason: not now}\n");
  const std::string before = view();
  const std::size_t first = model_.calls().size();
  const Finished ran = run({"-r", "compact", "--follow"});
  EXPECT_EQ(ran.code, 3) << ran.err;
  EXPECT_EQ(model_.calls().size(), first);
  EXPECT_EQ(view(), before);
}

TEST_F(CompactionRecipes, ABlankAnswerOfTheCompactRecipeIsNeverSwappedIn) {
  fill();
  const std::string before = view();
  model_.say(" \n ");
  const Finished ran = run({"-r", "compact", "--follow"});
  EXPECT_EQ(outcomes(ran).find("applied"), std::string::npos) << ran.out;
  EXPECT_TRUE(boundaries().empty());
  EXPECT_TRUE(has(view(), "FIRST-ANSWER"));
}

TEST_F(CompactionRecipes, TheSwapDoesNotComeAgainInLaterRuns) {
  fill();
  model_.say("THE-SUMMARY");
  ASSERT_EQ(run({"-r", "compact", "--follow"}).code, 0);
  model_.say("a normal answer");
  const Finished later = run(next());
  EXPECT_EQ(outcomes(later), "");
  EXPECT_EQ(boundaries().size(), 1u);
  EXPECT_TRUE(has(view(), "THE-SUMMARY"));
  EXPECT_TRUE(has(view(), "a normal answer"));
}

TEST_F(CompactionRecipes, OnceActsOnceInARunThatGoesOn) {
  recipe("noted",
         "---\nname: noted\nhooks:\n  turn_end:\n    handler: append_context\n    once: true\n"
         "    params: {text: NOTED-ONCE}\n---\nDo the work.\n");
  at_stop(R"({"action":"continue","messages":["and more"]})");
  ASSERT_EQ(run({"-r", "noted", "--no-tools"}).code, 0);
  ASSERT_EQ(run(next()).code, 0);
  const std::string sent = last_request();
  const std::size_t at = sent.find("NOTED-ONCE");
  EXPECT_NE(at, std::string::npos) << sent;
  EXPECT_EQ(sent.find("NOTED-ONCE", at + 1), std::string::npos) << sent;
}

TEST_F(CompactionRecipes, TheUsersCompactRecipeChangesManualAndAutomaticAlike) {
  fill();
  recipe("compact", "---\nname: compact\nallowed_tools: []\n---\nTHE-USER'S-OWN-PROMPT, briefly.\n");
  ASSERT_EQ(outcomes(run(next(question()))), "applied");
  ASSERT_EQ(outcomes(compact()), "applied");
  const auto calls = model_.calls_since(0, true);
  ASSERT_EQ(calls.size(), 2u);
  for (const auto& call : calls) {
    EXPECT_TRUE(has(call.body, "THE-USER'S-OWN-PROMPT"));
    EXPECT_FALSE(has(call.body, "User messages"));  // of the built-in one
  }
}

TEST_F(CompactionRecipes, ABrokenCompactRecipeIsAnErrorOnRequestAndToldOnceByADoor) {
  fill();
  recipe("compact", "---\nname: compact\nnonsense: 1\n---\nmine\n");
  const std::string before = view();
  const Finished asked = compact();
  EXPECT_EQ(asked.code, 1) << asked.out;
  EXPECT_TRUE(has(asked.err, "recipes/compact.md:3")) << asked.err;
  EXPECT_TRUE(has(asked.err, "nonsense")) << asked.err;
  EXPECT_EQ(outcomes(asked), "failed");
  EXPECT_EQ(model_.calls_since(0, true).size(), 0u);
  EXPECT_EQ(view(), before);
  const Finished ran = run(next(question()));
  EXPECT_EQ(outcomes(ran), "applied");
  EXPECT_EQ(count_type(ran, "warning"), 1u) << ran.out;
  EXPECT_TRUE(has(ran.out, "compact.md:3")) << ran.out;
}

// ---- agentd compact

TEST_F(CompactionRecipes, CompactTakesAConversationInEveryWay) {
  fill();
  const std::string same = id();
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"compact", "--follow"},
                                             {"compact", "-c", same},
                                             {"compact", "--conversation-id", same},
                                             {"compact", "--conversation-id=" + same}}) {
    model_.say("again");
    ASSERT_EQ(run(next("more words")).code, 0);
    const Finished ran = program_.run(words);
    EXPECT_EQ(ran.code, 0) << words[1] << ran.err;
    EXPECT_TRUE(has(ran.out, "Compacted conversation " + same + "\n")) << ran.out;
    EXPECT_TRUE(has(ran.out, " messages to 1 summary message")) << ran.out;
  }
}

TEST_F(CompactionRecipes, CompactCountsTheMessages) {
  fill();
  const Finished ran = program_.run({"compact", "--follow"});
  EXPECT_TRUE(has(ran.out, "Reduced from 4 messages to 1 summary message\n")) << ran.out;
}

TEST_F(CompactionRecipes, CompactWithoutAConversationSaysWhatToGive) {
  const Finished ran = program_.run({"compact"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_TRUE(has(ran.err, "-c")) << ran.err;
  EXPECT_TRUE(has(ran.err, "--follow")) << ran.err;
  EXPECT_EQ(program_.run({"compact", "-c", "01ARZ3NDEKTSV4RRFFQ69G5FAV"}).code, 4);
  EXPECT_EQ(program_.run({"compact", "--follow"}).code, 4);
}

// ---- what hooks answer when the agent stops

// The example script, word for word.
constexpr const char* kSmartCompact = R"(        payload=$(cat)
        current=$(echo "$payload" | jq '.usage.current_context_window')
        max=$(echo "$payload" | jq '.usage.max_context_window')

        # Compact if over 70% utilization
        ratio=$(echo "scale=2; $current / $max" | bc)
        if (( $(echo "$ratio > 0.70" | bc -l) )); then
            echo '{"action": "compact"}'
        fi)";

TEST_F(CompactionRecipes, SmartCompactCompactsAbove70PercentOfTheWindowAndNotBelow) {
  if (::access("/usr/bin/jq", X_OK) != 0 || ::access("/usr/bin/bc", X_OK) != 0) {
    ASSERT_EQ(std::getenv("CI"), nullptr) << "the script needs jq and bc";
    GTEST_SKIP() << "the example script needs jq and bc: apt install jq bc";
  }
  executable_hook("smart_compact", "agent_stop", kSmartCompact);
  model_.say(std::string(20'000, 'a'), 13'000, 900);  // 69 %
  const Finished below = run({"--no-tools", "one", "--disable-auto-compact"});
  EXPECT_EQ(below.code, 0) << below.err;
  EXPECT_EQ(outcomes(below), "");
  model_.say("b", 14'000, 250);  // 71 %
  const Finished above = run({"--follow", "--no-tools", "two", "--disable-auto-compact"});
  EXPECT_EQ(above.code, 0) << above.err;
  EXPECT_EQ(outcomes(above), "applied") << above.out;
  EXPECT_EQ(boundaries()[0].root()["payload"]["reason"].string_or(""), "hook");
}

TEST_F(CompactionRecipes, CompactAtTheStopEndsTheRunAndTheConversationGoesOn) {
  fill();
  at_stop(R"({"action": "compact"})");
  const std::size_t first = model_.calls().size();
  const Finished ran = run(next());
  EXPECT_EQ(outcomes(ran), "applied");
  EXPECT_EQ(model_.calls_since(first, false).size(), 1u);
  EXPECT_EQ(boundaries()[0].root()["payload"]["phase"].string_or(""), "post_turn");
}

TEST_F(CompactionRecipes, CompactWithMessagesGoesOnFromTheNewView) {
  fill();
  at_stop(R"({"action": "compact", "messages": ["now the tests"]})");
  ASSERT_EQ(outcomes(run(next())), "applied");
  EXPECT_TRUE(has(last_request(), "now the tests"));
  EXPECT_TRUE(has(last_request(), kSummaryText));
  EXPECT_FALSE(has(last_request(), "FIRST-ANSWER"));
}

TEST_F(CompactionRecipes, ContinueSendsItsMessagesAndTheLegacyKeyDoesToo) {
  at_stop(R"({"action": "continue", "messages": ["Please also run the linter"]})");
  ASSERT_EQ(run({"--no-tools", "one"}).code, 0);
  EXPECT_TRUE(has(last_request(), "Please also run the linter"));
  at_stop(R"({"follow_up_messages": ["the old key"]})");
  ASSERT_EQ(run({"--no-tools", "two", "--set", "hooks.dev=true"}).code, 0);
  EXPECT_TRUE(has(last_request(), "the old key"));
}

TEST_F(CompactionRecipes, ReplacePutsItsMessagesInPlaceOfTheHistory) {
  fill();
  record_events({"before_compaction", "after_compaction"});
  at_stop(R"({"action": "replace", "replace_messages": [)"
          R"({"role": "user", "content": "Compacted summary of conversation..."}]})");
  const Finished ran = run(next());
  EXPECT_EQ(outcomes(ran), "applied") << ran.out;
  EXPECT_EQ(boundaries()[0].root()["payload"]["method"].string_or(""), "replace");
  EXPECT_TRUE(recorded("before_compaction").empty());
  EXPECT_EQ(recorded("after_compaction").size(), 1u);
  EXPECT_TRUE(model_.calls_since(0, true).empty());
  ::unlink((program_.home() + "/hooks/answers").c_str());
  ASSERT_EQ(run(next("and now")).code, 0);
  EXPECT_TRUE(has(last_request(), "Compacted summary of conversation..."));
  EXPECT_FALSE(has(last_request(), "SECOND-ANSWER"));
}

TEST_F(CompactionRecipes, ReplaceMessagesWithoutTheActionDoNothing) {
  fill();
  at_stop(R"({"replace_messages": [{"role": "user", "content": "sneaked in"}]})");
  ASSERT_EQ(run(next()).code, 0);
  EXPECT_TRUE(boundaries().empty());
  EXPECT_FALSE(has(view(), "sneaked in"));
}

TEST_F(CompactionRecipes, SummaryStoresOneAndLeavesTheView) {
  fill();
  at_stop(R"({"action": "summary"})");
  const Finished ran = run(next());
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(boundaries().empty());
  EXPECT_TRUE(has(whole_log(), kSummaryText));
  EXPECT_TRUE(has(view(), "FIRST-ANSWER"));
  EXPECT_FALSE(has(view(), kSummaryText)) << "a summary that was only stored is in the view";
}

TEST_F(CompactionRecipes, CallbackRunsARecipeAndItsTextIsTheNextMessage) {
  recipe("review", "---\nname: review\n---\nReview the change in {{.area}}.\n");
  at_stop(R"({"action": "callback", "callback": {"recipe": "review", "args": {"area": "src/kite"}}})");
  model_.say("the change is done").say("THE-REVIEW'S-TEXT").say("thank you");
  ASSERT_EQ(run({"--no-tools", "change it"}).code, 0);
  const auto calls = model_.calls();
  ASSERT_EQ(calls.size(), 3u);
  EXPECT_TRUE(has(calls[1].body, "Review the change in src/kite."));
  EXPECT_TRUE(has(texts_of(calls[2].body), "THE-REVIEW'S-TEXT"));
}

TEST_F(CompactionRecipes, TheFirstOfTwoExclusiveActionsWinsAndTheOtherIsTold) {
  fill();
  executable_hook("a_compacts", "agent_stop", "    cat > /dev/null; echo '{\"action\": \"compact\"}'");
  executable_hook("b_replaces", "agent_stop",
                  "    cat > /dev/null; echo '{\"action\": \"replace\", \"replace_messages\": [{\"role\": "
                  "\"user\", \"content\": \"LOST\"}]}'");
  const Finished ran = run(next());
  EXPECT_EQ(outcomes(ran), "applied");
  EXPECT_TRUE(has(view(), kSummaryText));
  EXPECT_FALSE(has(view(), "LOST"));
  EXPECT_EQ(count_type(ran, "hook_conflict"), 1u);
}

}  // namespace
}  // namespace agentd::testing
