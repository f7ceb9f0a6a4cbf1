// SPDX-License-Identifier: Apache-2.0
// Undo, earlier moments, differences and forks, on the built program.
#include <gtest/gtest.h>

#include "tests/e2e/program.h"

namespace agentd::testing {
namespace {

class UndoTest : public ::testing::Test {
 protected:
  void talk(const std::string& words) {
    const Finished ran = program_.run({"run", words, "--script", program_.script("- text: an answer\n"),
                                       program_.newest().empty() ? "--no-tools" : "--follow"});
    ASSERT_EQ(ran.code, 0) << ran.err;
    if (id_.empty()) id_ = program_.newest();
  }
  void compact(const std::string& summary, std::vector<std::string> more = {}) {
    std::vector<std::string> words{"compact", "-c", id_, "--script",
                                   program_.script("- for: summary\n  text: " + summary + "\n")};
    words.insert(words.end(), more.begin(), more.end());
    const Finished ran = program_.run(words);
    ASSERT_EQ(ran.code, 0) << ran.err;
    ASSERT_EQ(ran.out.substr(0, 9), "Compacted") << ran.out;
  }
  // No provider, no key: nothing of this may ask for one.
  Finished undo(std::vector<std::string> more = {}) {
    std::vector<std::string> words{"compact", "--undo", "-c", id_};
    words.insert(words.end(), more.begin(), more.end());
    return program_.run(words);
  }
  std::string show(std::vector<std::string> more) {
    std::vector<std::string> words{"conversation", "show", id_};
    words.insert(words.end(), more.begin(), more.end());
    const Finished ran = program_.run(words);
    EXPECT_EQ(ran.code, 0) << ran.err;
    return ran.out;
  }
  // The messages of the view as JSON text, without the index, which counts records.
  std::string view(std::vector<std::string> more = {}) {
    more.insert(more.end(), {"--view", "--format", "json"});
    const std::string text = show(more);
    const std::size_t at = text.find("\"messages\": [");
    EXPECT_NE(at, std::string::npos) << text;
    return at == std::string::npos ? text : text.substr(at);
  }
  // Messages of the next request as the provider gets them, the last question left out.
  std::string next_request() {
    const std::string record = program_.directory().file("recorded.jsonl");
    std::remove(record.c_str());
    program_.config("scripted: {record: " + record + "}\n");
    const Finished ran = program_.run({"run", "--resume", id_, "the very next question", "--no-tools", "--script",
                                       program_.script("- text: an answer\n")});
    EXPECT_EQ(ran.code, 0) << ran.err;
    program_.config("");
    const std::string text = program_.directory().read("recorded.jsonl");
    const auto first = JsonDocument::parse(text.substr(0, text.find('\n')));
    EXPECT_TRUE(first) << text;
    if (!first) return {};
    JsonWriter out;
    out.begin_array();
    const JsonView messages = first->root()["messages"];
    for (std::size_t i = 0; i + 1 < messages.size(); ++i) out.value(messages.at(i));
    out.end_array();
    EXPECT_GT(messages.size(), 1u) << text;
    return std::string(out.text());
  }
  std::vector<JsonDocument> boundaries() {
    return json_lines(program_.run({"conversation", "boundaries", id_, "--json"}).out);
  }
  std::string boundary(std::size_t index) { return std::string(boundaries().at(index).root()["id"].string_or("")); }

  Program program_;
  std::string id_;
};

TEST_F(UndoTest, TenCompactionsAreUndoneByTenProcessesAndTheFirstViewIsBack) {
  for (int i = 0; i < 12; ++i) talk("question " + std::to_string(i) + " " + std::string(400, '.'));
  std::vector<std::string> views;
  for (int i = 0; i < 10; ++i) {
    views.push_back(view());
    program_.config("context_window: " + std::to_string(120'000 - i * 10'000) + "\ncompaction: {keep_percent: 1}\n");
    compact("summary " + std::to_string(i), {"--strategy", "tail"});
    ASSERT_NE(view(), views.back());
  }
  program_.config("");
  for (; !views.empty(); views.pop_back()) {
    const Finished ran = undo();
    ASSERT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(view(), views.back());
  }
  const Finished none = undo();
  EXPECT_EQ(none.code, 1);
  EXPECT_NE(none.err.find("no compaction to undo"), std::string::npos) << none.err;
}

TEST_F(UndoTest, NextRequestAfterAnUndoIsWhatItWouldHaveBeen) {
  for (const char* words : {"alpha question", "beta question"}) talk(words);
  const auto made = json_lines(program_.run({"conversation", "fork", id_, "--json"}).out);
  const std::string twin(made.at(0).root()["id"].string_or(""));
  compact("all in short");
  EXPECT_NE(next_request().find("all in short"), std::string::npos);
  const Finished ran = undo();
  ASSERT_EQ(ran.code, 0) << ran.err;
  const std::string back = next_request();
  id_ = twin;
  const std::string never_compacted = next_request();
  ASSERT_GT(never_compacted.size(), 60u);
  EXPECT_EQ(back.substr(0, never_compacted.size() - 1), never_compacted.substr(0, never_compacted.size() - 1));
  EXPECT_EQ(back.find("all in short"), std::string::npos);
}

TEST_F(UndoTest, SaysWhatItDidInTextAndJson) {
  talk("alpha question");
  compact("short");
  const std::string boundary_id = boundary(0);
  const Finished ran = undo();
  EXPECT_EQ(ran.out.substr(0, ran.out.find("\nContext")),
            "Undid compaction " + boundary_id + " of conversation " + id_ + "\nBack from 1 message to 2 messages");
  compact("short again");
  const Finished json = undo({"--json"});
  EXPECT_EQ(json.code, 0) << json.err;
  std::string types;
  for (const JsonDocument& line : json_lines(json.out)) types += std::string(line.root()["type"].string_or("")) + " ";
  EXPECT_NE(types.find("compaction_undone "), std::string::npos) << types;
  EXPECT_TRUE(types.ends_with(" undo_result ")) << types;
}

TEST_F(UndoTest, OverTheWindowItRefusesAndForceDoesIt) {
  talk(std::string(60'000, 'x'));
  compact("short");
  const std::string before = program_.record_types(id_);
  program_.config("context_window: 12000\n");
  const Finished refused = undo();
  EXPECT_EQ(refused.code, 1);
  EXPECT_NE(refused.err.find("--force"), std::string::npos) << refused.err;
  EXPECT_NE(refused.err.find("tokens into a window of"), std::string::npos) << refused.err;
  EXPECT_EQ(program_.record_types(id_), before);
  const Finished forced = undo({"--force"});
  EXPECT_EQ(forced.code, 0) << forced.err;
  EXPECT_NE(forced.out.find("--disable-auto-compact"), std::string::npos) << forced.out;
}

TEST_F(UndoTest, WithoutAKeyWhatNeedsNoModelWorks) {
  talk("alpha question");
  compact("short");
  EXPECT_EQ(program_.run({"compact", "--diff", "-c", id_}).code, 0);
  EXPECT_EQ(program_.run({"compact", "--dry-run", "-c", id_}).code, 0);
  EXPECT_EQ(program_.run({"compact", "--undo", "--follow"}).code, 0);
  EXPECT_EQ(program_.run({"compact", "-c", id_}).code, 5);
}

TEST_F(UndoTest, AConversationThatIsNotThereIsFoundOutBeforeTheKeyIsAskedFor) {
  for (const char* mode : {"--undo", "--diff", "--dry-run", "--no-hooks"}) {
    SCOPED_TRACE(mode);
    EXPECT_EQ(program_.run({"compact", mode, "--follow"}).code, 4);
    EXPECT_EQ(program_.run({"compact", mode, "-c", "01J9ZQ2V8M4T0C7X5R3N6K1B2D"}).code, 4);
  }
  talk("alpha question");
  EXPECT_EQ(program_.run({"compact", "-c", "01J9ZQ2V8M4T0C7X5R3N6K1B2D"}).code, 4);
  EXPECT_EQ(program_.run({"compact", "--diff", "-c", id_}).code, 4);
}

TEST_F(UndoTest, SwitchesThatContradictEachOtherAreUsageErrors) {
  talk("alpha question");
  const std::vector<std::vector<std::string>> wrong{{"--undo", "--diff"},
                                                    {"--undo", "--dry-run"},
                                                    {"--force"},
                                                    {"--undo", "--strategy", "full"},
                                                    {"--diff", "--instructions", "x"},
                                                    {"01J9ZQ2V8M"},
                                                    {"--undo", "--follow"}};
  for (std::vector<std::string> words : wrong) {
    SCOPED_TRACE(words[0]);
    words.insert(words.begin(), {"compact", "-c", id_});
    const Finished ran = program_.run(words);
    EXPECT_EQ(ran.code, 2) << ran.err;
    EXPECT_NE(ran.err, "");
  }
}

TEST_F(UndoTest, WhileAnotherProcessHoldsItTheUndoIsBusy) {
  talk("alpha question");
  compact("short");
  Running held = program_.start({"run", "--follow", "wait", "--no-tools", "--json", "--script",
                                 program_.script("- text: late\n  delay_ms: 60000\n")});
  ASSERT_TRUE(held.wait_for_out("run_started"));
  const Finished ran = undo();
  EXPECT_EQ(ran.code, 75) << ran.err;
  EXPECT_NE(ran.err.find(std::to_string(held.pid())), std::string::npos) << ran.err;
  // What is in use may be forked all the same.
  EXPECT_EQ(program_.run({"conversation", "fork", id_}).code, 0);
  held.signal(9);
}

// ---- earlier moments

TEST_F(UndoTest, ShowAtABoundaryIsTheViewThatItHid) {
  for (const char* words : {"alpha question", "beta question"}) talk(words);
  const std::string whole = show({"--view", "--format", "json"});
  compact("the first summary");
  talk("gamma question");
  const std::string between = view();
  compact("the second summary");
  EXPECT_EQ(show({"--at", boundary(0), "--view", "--format", "json"}), whole);
  EXPECT_EQ(view({"--at", boundary(1)}), between);
  EXPECT_EQ(view({"--at", boundary(1).substr(0, 22)}), between);
  const std::string seq = std::to_string(boundaries()[1].root()["seq"].uint_or(0));
  EXPECT_EQ(view({"--at", seq}), view());
  EXPECT_EQ(show({"--at", boundary(0)}).find("gamma"), std::string::npos);
}

TEST_F(UndoTest, MomentsThatThereAreNoneAreNotFound) {
  talk("alpha question");
  for (const char* at : {"9999", "0", "01J9ZQ2V8M4T0C7X5R3N6K1B2D", "x"}) {
    SCOPED_TRACE(at);
    EXPECT_EQ(program_.run({"conversation", "show", id_, "--at", at}).code, 4);
    EXPECT_EQ(program_.run({"conversation", "fork", id_, "--at", at}).code, 4);
  }
}

TEST_F(UndoTest, BoundariesAreListedWithWhatTheyWonAndWhetherTheyCount) {
  talk("alpha question");
  EXPECT_NE(program_.run({"conversation", "boundaries", id_}).out.find("never compacted"), std::string::npos);
  compact("one");
  talk("beta question");
  compact("two");
  ASSERT_EQ(undo().code, 0);
  const auto list = boundaries();
  ASSERT_EQ(list.size(), 2u);
  EXPECT_FALSE(list[0].root()["undone"].bool_or(true));
  EXPECT_TRUE(list[1].root()["undone"].bool_or(false));
  EXPECT_EQ(list[0].root()["trigger"].string_or(""), "manual");
  EXPECT_GT(list[0].root()["pre_tokens"].uint_or(0), 0u);
  const std::string text = program_.run({"conversation", "boundaries", id_}).out;
  EXPECT_NE(text.find(boundary(0)), std::string::npos) << text;
  EXPECT_NE(text.find("undone"), std::string::npos) << text;
  EXPECT_NE(show({}).find("was undone ──"), std::string::npos);
  EXPECT_NE(show({}).find(boundary(1)), std::string::npos);
}

TEST_F(UndoTest, DiffNamesWhatWasDroppedAndKeptAndShowsTheSummary) {
  for (const char* words : {"alpha question", "beta question"}) talk(words);
  compact("all in short");
  const std::string text = program_.run({"compact", "--diff", "-c", id_}).out;
  EXPECT_NE(text.find("dropped 4 messages"), std::string::npos) << text;
  EXPECT_NE(text.find("user · alpha question · "), std::string::npos) << text;
  EXPECT_NE(text.find("all in short"), std::string::npos) << text;
  talk("gamma question");
  ASSERT_EQ(undo().code, 0);
  EXPECT_EQ(program_.run({"compact", "--diff", "-c", id_}).code, 4);
  const Finished named = program_.run({"compact", "--diff", boundary(0), "-c", id_, "--json"});
  ASSERT_EQ(named.code, 0) << named.err;
  const auto json = json_lines(named.out);
  EXPECT_EQ(json.at(0).root()["dropped"]["messages"].uint_or(0), 4u);
  EXPECT_EQ(json.at(0).root()["messages"].size(), 4u);
  EXPECT_TRUE(json.at(0).root()["undone"].bool_or(false));
}

// ---- forks

TEST_F(UndoTest, ForkAtABoundaryGivesBackTheExactEarlierView) {
  for (const char* words : {"alpha question", "beta question"}) talk(words);
  const std::string before = view();
  compact("all in short");
  talk("gamma question");
  const std::string now = view();
  const Finished ran = program_.run({"conversation", "fork", id_, "--at", boundary(0), "--json"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const auto made = json_lines(ran.out);
  const std::string parent = id_;
  EXPECT_EQ(made.at(0).root()["parent"].string_or(""), parent);
  EXPECT_EQ(made.at(0).root()["title"].string_or(""), "alpha question (fork)");
  id_ = made.at(0).root()["id"].string_or("");
  ASSERT_NE(id_, parent);
  EXPECT_EQ(view(), before);
  const Finished next = program_.run(
      {"run", "--resume", id_, "go on", "--no-tools", "--script",
       program_.script("- text: fine\n  expect: {contains: beta question, not_contains: gamma question}\n")});
  EXPECT_EQ(next.code, 0) << next.err;
  id_ = parent;
  EXPECT_EQ(view(), now);
}

TEST_F(UndoTest, EitherSideOfAForkOutlivesTheOther) {
  talk("alpha question");
  const Finished ran = program_.run({"conversation", "fork", id_});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.out.find("New conversation "), std::string::npos) << ran.out;
  const std::string before = view();
  const std::string parent = id_;
  id_ = program_.newest();
  ASSERT_NE(id_, parent);
  EXPECT_EQ(program_.run({"conversation", "delete", parent, "--yes"}).code, 0);
  EXPECT_EQ(view(), before);
  EXPECT_EQ(program_.run({"conversation", "fork", parent}).code, 4);
}

}  // namespace
}  // namespace agentd::testing
