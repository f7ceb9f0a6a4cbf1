// SPDX-License-Identifier: Apache-2.0
// `agentd compact` and the commands on conversations.
#include <gtest/gtest.h>

#include "tests/e2e/program.h"

namespace agentd::testing {
namespace {

class CompactTest : public ::testing::Test {
 protected:
  // Three questions and answers.
  void talk() {
    for (const char* words : {"alpha question", "beta question", "gamma question"})
      ASSERT_EQ(program_
                    .run({"run", words, "--script", program_.script("- text: an answer\n"),
                          program_.newest().empty() ? "--no-tools" : "--follow"})
                    .code,
                0);
    id_ = program_.newest();
  }
  std::vector<std::string> compact(std::vector<std::string> words, const std::string& yaml) {
    words.insert(words.begin(), "compact");
    words.insert(words.end(), {"--script", program_.script(yaml)});
    return words;
  }
  static constexpr const char* kSummary = "- for: summary\n  text: the talk in short\n";
  Program program_;
  std::string id_;
};

TEST_F(CompactTest, ReplacesTheHistoryByOneSummary) {
  talk();
  const Finished ran = program_.run(compact({"-c", id_}, kSummary));
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.out.substr(0, ran.out.find("\nContext")),
            "Compacted conversation " + id_ + "\nReduced from 6 messages to 1 summary message");
  const Finished next = program_.run({"run", "--follow", "and now", "--script",
                                      program_.script("- text: fine\n  expect:\n    contains: the talk in short\n"
                                                      "    not_contains: [alpha question, beta question]\n")});
  EXPECT_EQ(next.code, 0) << next.err;
}

TEST_F(CompactTest, KeepsEverythingInTheLog) {
  talk();
  ASSERT_EQ(program_.run(compact({"--follow"}, kSummary)).code, 0);
  const std::string shown = program_.run({"conversation", "show", id_}).out;
  EXPECT_NE(shown.find("alpha question"), std::string::npos);
  EXPECT_NE(shown.find("── compacted (manual"), std::string::npos) << shown;
  const std::string view = program_.run({"conversation", "show", id_, "--view"}).out;
  EXPECT_EQ(view.find("beta question"), std::string::npos) << view;
  EXPECT_NE(view.find("the talk in short"), std::string::npos);
}

TEST_F(CompactTest, ADryRunChangesNothingAndNeedsNoModel) {
  talk();
  const std::string before = program_.record_types(id_);
  const Finished ran = program_.run({"compact", "--follow", "--dry-run"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.out, "");
  EXPECT_EQ(program_.record_types(id_), before);
}

TEST_F(CompactTest, InstructionsReachTheModel) {
  talk();
  const Finished ran =
      program_.run(compact({"-c", id_, "--instructions", "heed the deployment"},
                           "- for: summary\n  text: short\n  expect: {contains: heed the deployment}\n"));
  EXPECT_EQ(ran.code, 0) << ran.err;
}

TEST_F(CompactTest, AVetoExitsThreeWithTheReasonAndChangesNothing) {
  talk();
  program_.drop_hook(AGENTD_REFUSE_HOOK);
  const Finished ran = program_.run(compact({"--follow"}, kSummary));
  EXPECT_EQ(ran.code, 3) << ran.err;
  EXPECT_NE(ran.err.find("not while the tests run"), std::string::npos) << ran.err;
  EXPECT_EQ(program_.record_types(id_).find("boundary"), std::string::npos);
}

TEST_F(CompactTest, AFailingModelLeavesTheConversationAsItWas) {
  talk();
  const Finished ran = program_.run(compact({"--follow"}, "- for: summary\n  error: {kind: auth, message: no}\n"));
  EXPECT_NE(ran.code, 0);
  EXPECT_EQ(program_.record_types(id_).find("boundary"), std::string::npos);
}

TEST_F(CompactTest, WithoutAConversationIsAUsageErrorOrNotFound) {
  EXPECT_EQ(program_.run({"compact"}).code, 2);
  EXPECT_EQ(program_.run(compact({"--follow"}, kSummary)).code, 4);
}

TEST_F(CompactTest, JsonTellsTheOutcome) {
  talk();
  const Finished ran = program_.run(compact({"-c", id_, "--json"}, kSummary));
  EXPECT_EQ(ran.code, 0) << ran.err;
  std::string outcome;
  for (const JsonDocument& line : json_lines(ran.out))
    if (line.root()["type"].string_or("") == "compaction_result") outcome = line.root()["outcome"].string_or("");
  EXPECT_EQ(outcome, "applied");
}

// The bundled tools subscribe to session_end, which prints an event too.
TEST_F(CompactTest, TheResultIsTheLastLineOfJson) {
  talk();
  const auto expect_last = [](const Finished& ran, const std::string& wanted) {
    ASSERT_EQ(ran.code, 0) << ran.err;
    const auto lines = json_lines(ran.out);
    ASSERT_FALSE(lines.empty());
    EXPECT_EQ(lines.back().root()["type"].string_or(""), wanted) << ran.out;
    EXPECT_TRUE(has(ran.out, "session_end")) << ran.out;
  };
  expect_last(program_.run(compact({"-c", id_, "--dry-run", "--json"}, kSummary)), "compaction_result");
  expect_last(program_.run(compact({"-c", id_, "--json"}, kSummary)), "compaction_result");
  expect_last(program_.run({"compact", "--undo", "-c", id_, "--json"}), "undo_result");
  expect_last(program_.run({"run", "-r", "compact", "--resume", id_, "--json", "--script",
                            program_.script("- text: in short\n- for: summary\n  text: in short\n")}),
              "compaction_result");
}

// ---- conversations

TEST_F(CompactTest, ListShowsTheProjectsConversationsNewestFirst) {
  talk();
  ASSERT_EQ(program_.run({"run", "delta question", "--script", program_.script("- text: a\n")}).code, 0);
  const std::string list = program_.run({"conversation", "list"}).out;
  ASSERT_NE(list.find("delta question"), std::string::npos) << list;
  EXPECT_LT(list.find("delta question"), list.find("alpha question"));
  EXPECT_EQ(program_.run({"conversation", "list", "--search", "DELTA", "--json"}).out.find("alpha"), std::string::npos);
  EXPECT_EQ(json_lines(program_.run({"conversation", "list", "--limit", "1", "--json"}).out).size(), 1u);
}

TEST_F(CompactTest, ShowHasThreeFormatsAndTheLog) {
  talk();
  EXPECT_NE(program_.run({"conversation", "show", id_}).out.find("user\nalpha question"), std::string::npos);
  EXPECT_NE(program_.run({"conversation", "show", id_, "--format", "markdown"}).out.find("## user\n\nalpha question"),
            std::string::npos);
  const auto json = JsonDocument::parse(program_.run({"conversation", "show", id_, "--format", "json"}).out);
  ASSERT_TRUE(json) << json.error().message;
  EXPECT_EQ(json->root()["messages"].size(), 6u);
  EXPECT_EQ(program_.record_types(id_).substr(0, 7), "genesis");
}

TEST_F(CompactTest, DeleteAsksAndThenIsFinal) {
  talk();
  const Finished unasked = program_.run({"conversation", "delete", id_});
  EXPECT_EQ(unasked.code, 2);
  EXPECT_NE(unasked.err.find("--yes"), std::string::npos);
  EXPECT_EQ(program_.run({"conversation", "delete", id_, "--yes"}).code, 0);
  EXPECT_EQ(program_.run({"conversation", "show", id_}).code, 4);
}

}  // namespace
}  // namespace agentd::testing
