// SPDX-License-Identifier: Apache-2.0
// The fidelity harness: facts are planted in a history, a summariser copies every fact that it is
// shown, and what is in neither a summary nor the tail afterwards was dropped by the pipeline
// itself: by a cut, a chunk, an argument that was left out, a pruned result. The aim is that
// nothing is.
//
// What it prints: "fidelity: DOOR: PLANTED planted, LOST lost (where: how many)".
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>
#include <string>

#include "tests/support/agent_fixture.h"
#include "tests/support/planted_facts.h"

namespace agentd {
namespace {

using testing::action;
using testing::AgentTest;
using testing::Facts;
using testing::is_utf8;
using testing::TestCall;

constexpr std::uint64_t kSmallWindow = 10'000;  // tokens, of every model whose name begins with "m-"

// What one request shows of a block, in the words that a model would read.
std::string shown(const Block& block) {
  std::string out = block.text + "\n" + block.json + "\n";
  for (const Block& part : block.parts) out += shown(part);
  return out;
}

class Fidelity : public AgentTest {
 protected:
  Fidelity() {
    options_.summary_model = "wide";  // not in the table: 200,000 tokens
    model_.during = [this](const ModelRequest& request) { answer(request); };
  }

  // ---- the played model

  // A summary: every fact of the request, once. A turn: what is queued, or "ok".
  void answer(const ModelRequest& request) {
    std::string text(request.closing_text);
    std::uint64_t tokens = estimator_.count_text(request.closing_text) + estimator_.count_text(request.system);
    for (const agentd_message& row : request.messages) {
      tokens += estimator_.count_row(row);
      std::string message;
      for (const Block& block : to_message(row).blocks) message += cut_at_ == 0 ? shown(block) : block.text + "\n";
      text += cut_at_ == 0 ? message : message.substr(0, cut_at_);
    }
    if (request.purpose != "summary") {
      if (model_.answers.empty()) model_.say("ok");
      return;
    }
    ++summaries_;
    EXPECT_TRUE(cut_at_ != 0 || is_utf8(text)) << "a cut broke a letter";
    if (request.model.starts_with("m-") && tokens + request.max_output_tokens > kSmallWindow)
      return (void)model_.answers.push_front(
          testing::FakeModel::failure(ModelErrorKind::kContextLength, "prompt is too long"));
    std::string summary = "SUMMARY\n";
    std::set<std::string> seen;
    for (const std::string& fact : Facts::of(text)) {
      reached_.insert(fact);
      if (seen.insert(fact).second) summary += fact + "\n";
    }
    ModelResponse out;
    out.message = Message::of_text(Role::kAssistant, summary);
    model_.answers.push_front(std::move(out));
  }
  // ---- the history

  std::string filler(std::size_t bytes, char separator) const {
    std::string out, word = "wörter 世界 filler";
    std::replace(word.begin(), word.end(), ' ', separator == '_' ? '_' : ' ');
    while (out.size() < bytes) out += word + separator;
    return out;
  }
  // A long output whose every part holds facts, so that wherever it is cut one of them is near.
  std::string dense(std::size_t bytes, char separator, const std::string& where) {
    std::string out;
    while (out.size() < bytes) out += filler(60, separator) + facts_.plant(where) + separator;
    return out;
  }
  // One piece of work, with facts in all places that hold text.
  void work(std::size_t long_result = 0) {
    const std::string n = std::to_string(++pieces_);
    record(write_message({Message::of_text(Role::kUser, "please " + facts_.plant("user text") + " but never " +
                                                            facts_.plant("constraint") + filler(400, ' ')),
                          StopReason::kEndTurn,
                          "user",
                          {}}));
    Message answer = Message::of_text(Role::kAssistant, filler(300, ' ') + " decided " + facts_.plant("decision") +
                                                            " because of " + facts_.plant("reason"));
    Block thinking;
    thinking.kind = BlockKind::kThinking;
    thinking.text = "hm " + facts_.plant("thinking");
    thinking.opaque = "c2ln";
    answer.blocks.insert(answer.blocks.begin(), thinking);
    answer.blocks.push_back(Block::tool_use(
        "a" + n, "edit", R"({"path":")" + facts_.plant("argument") + R"(","text":")" + filler(300, ' ') + "\"}"));
    answer.blocks.push_back(Block::tool_use("b" + n, "bash", R"({"command":")" + facts_.plant("argument") + "\"}"));
    record(write_message({answer, StopReason::kToolUse, {}, {}}));
    for (const char* call : {"a", "b"}) record(write_tool_intent({call + n, "edit", "00", "effects", 1}));
    record(write_tool_result({"a" + n, "edit", "error " + facts_.plant("short result"), "error", {}, 0, 5}));
    const std::string output =
        long_result == 0 ? facts_.plant("result") + filler(result_bytes_, '\n') + facts_.plant("end of result")
                         : dense(long_result, pieces_ % 2 == 0 ? ' ' : '\n', "long result");
    record(write_tool_result({"b" + n, "bash", output, "ok", {}, 0, 5}));
    Message context = Message::of_text(Role::kUser, "by the way " + facts_.plant("context"));
    context.flags = AGENTD_MESSAGE_CONTEXT;
    record(write_message({context, StopReason::kEndTurn, "hook", "some_hook"}));
    record(write_message({Message::of_text(Role::kAssistant, "fixed by " + facts_.plant("fix") + ", pending " +
                                                                 facts_.plant("pending task")),
                          StopReason::kEndTurn,
                          {},
                          {}}));
  }
  void record(Record one) {
    if (records_.empty() && revision_ == 0)
      records_.push_back(write_genesis({id_.text(), "u/p", "/work", "fake", "m-1", {}, 0, {}}));
    records_.push_back(std::move(one));
  }
  // Stores what was recorded and opens the conversation.
  void begin() {
    store();
    open(id_);
  }
  void store() {
    const auto stored = store_.append(id_, revision_, records_, {}, {});
    ASSERT_TRUE(stored) << stored.error().message;
    revision_ += records_.size();
    records_.clear();
  }

  // ---- the count

  // Where the lost facts stood: in neither the final view nor its summary.
  std::map<std::string, int> lost() const {
    std::string all;
    const Conversation view = stored_view();
    for (const agentd_message& row : view.rows())
      for (const Block& block : to_message(row).blocks) all += shown(block);
    const std::vector<std::string> there = Facts::of(all);
    const std::set<std::string> kept(there.begin(), there.end());
    std::map<std::string, int> out;
    for (const auto& [fact, where] : facts_.all())
      if (!kept.contains(fact)) ++out[where];
    return out;
  }
  int report(const std::string& door) const {
    std::string where;
    int count = 0;
    for (const auto& [place, facts] : lost()) {
      count += facts;
      where += (where.empty() ? "" : ", ") + place + ": " + std::to_string(facts);
    }
    std::printf("fidelity: %s: %zu planted, %zu through the summariser in %d calls, %d lost%s\n", door.c_str(),
                facts_.size(), reached_.size(), summaries_, count, where.empty() ? "" : (" (" + where + ")").c_str());
    return count;
  }
  std::vector<std::string> methods() const {
    std::vector<std::string> out;
    for (const StoredRecord& one : log())
      if (one.record.type == RecordType::kBoundary) out.push_back(read_boundary(one.record)->method);
    return out;
  }
  void compact(std::uint32_t strategy = AGENTD_STRATEGY_DEFAULT) {
    CompactOptions options;
    options.strategy = strategy;
    const auto done = session_->compact(options, false, cancel_);
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(done->outcome, static_cast<std::uint32_t>(AGENTD_RESULT_APPLIED)) << done->text;
  }

  Facts facts_;
  std::set<std::string> reached_;
  int summaries_ = 0, pieces_ = 0;
  std::size_t result_bytes_ = 1'500;
  std::size_t cut_at_ = 0;  // of the negative control
  const Ulid id_ = ids_.next();
  std::uint64_t revision_ = 0;
  std::vector<Record> records_;
};

// ---- the doors, with a summariser that takes everything at once

TEST_F(Fidelity, StandaloneLosesNothing) {
  options_.auto_compact = false;
  for (int i = 0; i < 8; ++i) work(i == 2 ? 200'000 : 0);
  begin();
  compact();
  EXPECT_EQ(report("standalone, native"), 0);
  EXPECT_EQ(summaries_, 1);
  EXPECT_EQ(methods(), std::vector<std::string>{"summary"});
}

TEST_F(Fidelity, KeepingATailLosesNothing) {
  options_.auto_compact = false;
  for (int i = 0; i < 8; ++i) work();
  begin();
  compact(AGENTD_STRATEGY_TAIL);
  EXPECT_EQ(report("standalone, tail"), 0);
}

TEST_F(Fidelity, KeepingTheUsersTextsLosesNothing) {
  options_.auto_compact = false;
  for (int i = 0; i < 8; ++i) work();
  begin();
  compact(AGENTD_STRATEGY_USERS);
  EXPECT_EQ(report("standalone, users"), 0);
}

TEST_F(Fidelity, PreRequestLosesNothing) {
  result_bytes_ = 600;  // too short to be pruned: it takes a summary
  for (int i = 0; i < 12; ++i) work();
  begin();
  EXPECT_EQ(text_of(run("go on")), "ok");
  EXPECT_EQ(events_.outcomes(), "applied");
  EXPECT_EQ(methods(), std::vector<std::string>{"summary"});
  EXPECT_EQ(report("pre_request"), 0);
}

TEST_F(Fidelity, MidTurnLosesNothing) {
  for (int i = 0; i < 4; ++i) work();
  tools_.offer("bash");
  tools_.handler = [this](const ToolCall&) {
    ToolOutcome out;
    out.content = dense(9'000, '\n', "fresh result");
    return Result<ToolOutcome>(out);
  };
  begin();
  for (int i = 0; i < 4; ++i) model_.ask_tools({{"bash", R"({"command":")" + facts_.plant("fresh argument") + "\"}"}});
  run("work on").has_value();
  EXPECT_NE(events_.outcomes(), "");
  EXPECT_EQ(events_.outcomes().find("degraded"), std::string::npos) << events_.outcomes();
  EXPECT_EQ(report("mid_turn"), 0);
}

TEST_F(Fidelity, PostTurnLosesNothing) {
  options_.auto_compact = false;
  for (int i = 0; i < 8; ++i) work();
  on(AGENTD_EVENT_AGENT_STOP, "asks", [](const TestCall& call) { return call.answer(action(AGENTD_ACT_COMPACT)); });
  begin();
  EXPECT_EQ(text_of(run("go on")), "ok");
  EXPECT_EQ(events_.outcomes(), "applied");
  EXPECT_EQ(report("post_turn"), 0);
}

TEST_F(Fidelity, OverflowLosesNothing) {
  options_.auto_compact = false;
  for (int i = 0; i < 8; ++i) work();
  begin();
  model_.fail(ModelErrorKind::kContextLength, "prompt is too long").say("fine");
  EXPECT_EQ(text_of(run("go on")), "fine");
  EXPECT_EQ(events_.outcomes(), "applied");
  EXPECT_EQ(report("overflow"), 0);
}

// ---- the rungs

TEST_F(Fidelity, ChunksLoseNothing) {
  options_.auto_compact = false;
  options_.summary_model = "m-small";
  for (int i = 0; i < 12; ++i) work(i % 4 == 1 ? 70'000 : 0);
  begin();
  compact();
  EXPECT_EQ(report("standalone, chunked"), 0);
  EXPECT_GT(summaries_, 5);
  EXPECT_EQ(methods(), std::vector<std::string>{"chunked"});
}

TEST_F(Fidelity, ChunksOfLinesWordsAndNoBordersAtAllLoseNothing) {
  options_.auto_compact = false;
  options_.summary_model = "m-small";
  for (const char separator : {'\n', ' ', '_'}) {
    record(write_message(
        {Message::of_text(Role::kUser, dense(60'000, separator,
                                             std::string("text of ") + (separator == '\n'  ? "lines"
                                                                        : separator == ' ' ? "words"
                                                                                           : "one word"))),
         StopReason::kEndTurn,
         "user",
         {}}));
    record(write_message({Message::of_text(Role::kAssistant, "seen"), StopReason::kEndTurn, {}, {}}));
  }
  begin();
  compact();
  EXPECT_EQ(report("chunk borders"), 0);
}

TEST_F(Fidelity, ChunksAtAnAutomaticDoorLoseNothing) {
  options_.summary_model = "m-small";
  // This summariser copies: its summary is longer than any model's would be allowed to be.
  options_.budget.keep_percent = 20;
  for (int i = 0; i < 16; ++i) work(i == 3 ? 40'000 : 0);
  begin();
  EXPECT_EQ(text_of(run("go on")), "ok");
  EXPECT_EQ(events_.outcomes(), "applied");
  EXPECT_EQ(report("pre_request, chunked"), 0);
}

// What pruning hides stays in the log, and the summary that follows is made from there.
TEST_F(Fidelity, PruningAndThenASummaryLosesNothing) {
  for (int i = 0; i < 9; ++i) work(i < 4 ? 6'000 : 0);
  begin();
  for (int i = 0; i < 12 && (summaries_ == 0 || i < 3); ++i)
    EXPECT_TRUE(run("question " + facts_.plant("user text") + filler(1'500, ' ')));
  EXPECT_GT(summaries_, 0);
  const std::vector<std::string> how = methods();
  EXPECT_TRUE(std::find(how.begin(), how.end(), "prune") != how.end()) << "nothing was pruned";
  compact();  // what is still pruned in the tail comes back for the summary
  EXPECT_EQ(report("prune, then summary"), 0);
}

TEST_F(Fidelity, TenCompactionsInARowLoseNothing) {
  options_.auto_compact = false;
  tools_.offer("bash");
  tools_.handler = [this](const ToolCall&) {
    ToolOutcome out;
    out.content = dense(18'000, '\n', "result");
    return Result<ToolOutcome>(out);
  };
  work(70'000);
  begin();
  constexpr std::uint32_t kStrategies[] = {AGENTD_STRATEGY_FULL, AGENTD_STRATEGY_USERS, AGENTD_STRATEGY_TAIL};
  for (std::size_t i = 0; i < 10; ++i) {
    const std::string arguments = R"({"command":")" + facts_.plant("argument") + "\"}";
    model_.ask_tools({{"bash", arguments}, {"bash", arguments}});
    model_.say("answer " + facts_.plant("assistant text"));
    EXPECT_TRUE(run("and " + facts_.plant("user text")));
    compact(kStrategies[i % 3]);
  }
  EXPECT_EQ(methods().size(), 10u);
  EXPECT_EQ(report("ten compactions"), 0);
}

TEST_F(Fidelity, TenAutomaticCompactionsInARowLoseNothing) {
  open();
  for (int i = 0; i < 80 && methods().size() < 10; ++i) {
    model_.say("answer " + facts_.plant("assistant text") + filler(2'000, ' '));
    EXPECT_TRUE(run("question " + facts_.plant("user text") + filler(1'800, ' ')));
  }
  EXPECT_EQ(methods().size(), 10u);
  EXPECT_EQ(events_.outcomes().find("degraded"), std::string::npos) << events_.outcomes();
  EXPECT_EQ(report("ten automatic compactions"), 0);
}

// ---- the harness itself

TEST_F(Fidelity, APipelineThatCutsEachMessageIsFoundOut) {
  options_.auto_compact = false;
  cut_at_ = 2'000;  // bytes of each message, and no arguments
  for (int i = 0; i < 8; ++i) work(i == 2 ? 70'000 : 0);
  begin();
  compact();
  const std::map<std::string, int> gone = lost();
  EXPECT_GT(report("negative control: 2,000 characters of each message"), 100);
  EXPECT_TRUE(gone.contains("argument"));
  EXPECT_TRUE(gone.contains("long result"));
  EXPECT_FALSE(gone.contains("user text"));
}

TEST_F(Fidelity, AnEmptySummaryLosesWhatTheTailDoesNotHold) {
  options_.auto_compact = false;
  cut_at_ = 1;
  for (int i = 0; i < 8; ++i) work();
  begin();
  compact(AGENTD_STRATEGY_FULL);
  EXPECT_EQ(report("negative control: nothing"), static_cast<int>(facts_.size()));
}

}  // namespace
}  // namespace agentd
