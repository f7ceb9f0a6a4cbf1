// SPDX-License-Identifier: Apache-2.0
// Tool calls of one answer that only read, and run at the same time.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>

#include "core/base/mutex.h"
#include "tests/support/agent_fixture.h"

namespace agentd {
namespace {

using testing::action;
using testing::AgentTest;
using testing::TestCall;
using testing::TestHook;

// Waits until `count` calls are inside at the same time; false after five seconds.
class Gathering {
 public:
  explicit Gathering(int count) : count_(count) {}
  bool enter() {
    MutexLock lock(mutex_);
    ++inside_;
    most_ = std::max(most_, inside_);
    changed_.notify_all();
    const Deadline deadline = Deadline::after(clock_, Milliseconds(5'000));
    while (most_ < count_)
      if (!changed_.wait_until(mutex_, clock_, deadline)) break;
    return most_ >= count_;
  }
  void leave() {
    const MutexLock lock(mutex_);
    --inside_;
  }
  int most() {
    const MutexLock lock(mutex_);
    return most_;
  }

 private:
  const SystemClock clock_;
  const int count_;
  Mutex mutex_;
  Condition changed_;
  int inside_ GUARDED_BY(mutex_) = 0, most_ GUARDED_BY(mutex_) = 0;
};

class ReadingCalls : public AgentTest {
 protected:
  ReadingCalls() {
    tools_.offer("bash");
    tools_.offer("read", AGENTD_TOOL_READ_ONLY);
  }
  static Result<ToolOutcome> said(std::string text) {
    ToolOutcome out;
    out.content = std::move(text);
    return out;
  }
  // A hook that notes the calls it sees: "<c1 ".
  TestHook::Fn note(const char* what) {
    return [this, what](const TestCall& call) {
      order_ += std::string(what) + std::string(view_of(call.payload<agentd_tool_call>().call_id)) + " ";
      return AGENTD_OK;
    };
  }
  // "c1 c2 ...": the calls of the second request's results, in order, with what they say.
  std::string results_seen() {
    std::string out;
    for (const Message& message : model_.requests.at(1).messages)
      for (const Block& block : message.blocks)
        if (block.kind == BlockKind::kToolResult) out += block.call_id + ":" + block.text + " ";
    return out;
  }

  std::string order_;
};

TEST_F(ReadingCalls, NeighboursRunAtTheSameTimeAndAnyOtherCallIsABarrier) {
  Gathering first(3), second(2);
  std::atomic<int> reads = 0;
  tools_.handler = [&](const ToolCall& call) {
    if (call.name == "bash") {
      EXPECT_EQ(reads, 3);
      EXPECT_EQ(first.most(), 3);
      EXPECT_EQ(second.most(), 0);
      return said("ran");
    }
    Gathering& mine = call.call_id <= "c3" ? first : second;
    EXPECT_TRUE(mine.enter());
    ++reads;
    mine.leave();
    return said("read");
  };
  open();
  model_.ask_tools({{"read", "{}"}, {"read", "{}"}, {"read", "{}"}, {"bash", "{}"}, {"read", "{}"}, {"read", "{}"}})
      .say("done");
  EXPECT_EQ(text_of(run("go")), "done");
  EXPECT_EQ(results_seen(), "c1:read c2:read c3:read c4:ran c5:read c6:read ");
  EXPECT_EQ(kinds(),
            "genesis run_begin settings user_message assistant_message tool_intent tool_intent tool_intent "
            "tool_result tool_result tool_result tool_intent tool_result tool_intent tool_intent tool_result "
            "tool_result assistant_message run_end");
}

TEST_F(ReadingCalls, TheirIntentsAreOneCommitBeforeAnyOfThemRuns) {
  open();
  int appends = 0;
  std::atomic<int> seen = 0;
  tools_.handler = [&](const ToolCall&) {
    int intents = 0;
    for (const StoredRecord& record : log()) intents += record.record.type == RecordType::kToolIntent ? 1 : 0;
    EXPECT_EQ(intents, 4);
    if (seen++ == 0) appends = store_.appends;
    EXPECT_EQ(store_.appends, appends);
    return said("read");
  };
  model_.ask_tools({{"read", "{}"}, {"read", "{}"}, {"read", "{}"}, {"read", "{}"}}).say("done");
  EXPECT_EQ(text_of(run("go")), "done");
  EXPECT_EQ(seen, 4);
}

TEST_F(ReadingCalls, HooksAreAskedInOrderWhicheverEndsFirst) {
  on(AGENTD_EVENT_BEFORE_TOOL_CALL, "before", note("<"));
  on(AGENTD_EVENT_AFTER_TOOL_CALL, "after", note(">"));
  Gathering all(3);
  std::atomic<int> left = 3;
  tools_.handler = [&](const ToolCall& call) {
    EXPECT_TRUE(all.enter());
    const int turn = call.call_id.back() - '0';
    while (left != turn) std::this_thread::yield();  // the last one ends first
    --left;
    return said(call.call_id);
  };
  open();
  model_.ask_tools({{"read", "{}"}, {"read", "{}"}, {"read", "{}"}}).say("done");
  EXPECT_EQ(text_of(run("go")), "done");
  EXPECT_EQ(order_, "<c1 <c2 <c3 >c1 >c2 >c3 ");
  EXPECT_EQ(results_seen(), "c1:c1 c2:c2 c3:c3 ");
}

TEST_F(ReadingCalls, AHookOfAbi10SeesOneCallAfterTheOther) {
  on(AGENTD_EVENT_BEFORE_TOOL_CALL, "before", note("<"));
  on(AGENTD_EVENT_AFTER_TOOL_CALL, "after", note(">")).what.flags |= kSeesCallsApart;
  open();
  model_.ask_tools({{"read", "{}"}, {"read", "{}"}}).say("done");
  EXPECT_EQ(text_of(run("go")), "done");
  EXPECT_EQ(order_, "<c1 >c1 <c2 >c2 ");
}

TEST_F(ReadingCalls, ThoseOfASerialPluginAreOneAfterTheOther) {
  tools_.offered.back().serial_plugin = "org.example.serial";
  std::atomic<int> inside = 0;
  tools_.handler = [&](const ToolCall& call) {
    EXPECT_EQ(++inside, 1);
    std::this_thread::yield();
    --inside;
    return said(call.call_id);
  };
  open();
  model_.ask_tools({{"read", "{}"}, {"read", "{}"}, {"read", "{}"}}).say("done");
  EXPECT_EQ(text_of(run("go")), "done");
  EXPECT_EQ(results_seen(), "c1:c1 c2:c2 c3:c3 ");
}

TEST_F(ReadingCalls, OneThatIsDeniedDoesNotKeepItsNeighboursFromRunning) {
  on(AGENTD_EVENT_BEFORE_TOOL_CALL, "guard", [](const TestCall& call) {
    const bool second = view_of(call.payload<agentd_tool_call>().call_id) == "c2";
    return second ? call.answer(action(AGENTD_ACT_BLOCK, "not this one")) : AGENTD_OK;
  });
  open();
  model_.ask_tools({{"read", "{}"}, {"read", "{}"}, {"read", "{}"}}).say("done");
  EXPECT_EQ(text_of(run("go")), "done");
  EXPECT_EQ(results_seen(), "c1:output of read c2:blocked by the hook guard: not this one c3:output of read ");
  EXPECT_EQ(tools_.calls.size(), 2u);
}

TEST_F(ReadingCalls, AHookThatEndsTheRunAtALaterGateKeepsAllOfThemFromRunning) {
  on(AGENTD_EVENT_BEFORE_TOOL_CALL, "stopper", [](const TestCall& call) {
    const bool second = view_of(call.payload<agentd_tool_call>().call_id) == "c2";
    return second ? call.answer(action(AGENTD_ACT_STOP_RUN, "enough")) : AGENTD_OK;
  });
  open();
  model_.ask_tools({{"read", "{}"}, {"read", "{}"}, {"read", "{}"}}).say("never");
  const auto report = run("go");
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().kind, RunError::Kind::kStopped);
  EXPECT_TRUE(tools_.calls.empty());
  EXPECT_TRUE(stored_view().open_calls().empty());
  int denied = 0;
  for (const StoredRecord& record : log()) {
    EXPECT_NE(record.record.type, RecordType::kToolIntent);
    if (record.record.type == RecordType::kToolResult) denied += read_tool_result(record.record)->status == "denied";
  }
  EXPECT_EQ(denied, 3);
}

TEST_F(ReadingCalls, AnInterruptEndsThemAll) {
  Gathering all(3);
  tools_.handler = [&](const ToolCall& call) {
    EXPECT_TRUE(all.enter());
    if (call.call_id == "c2") cancel_.cancel(AGENTD_CANCEL_USER);
    while (!cancel_.cancelled()) std::this_thread::yield();
    return Result<ToolOutcome>(Error{Code::kCancelled, "interrupted"});
  };
  open();
  model_.ask_tools({{"read", "{}"}, {"read", "{}"}, {"read", "{}"}, {"bash", "{}"}}).say("never");
  const auto report = run("go");
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().kind, RunError::Kind::kCancelled);
  EXPECT_EQ(tools_.calls.size(), 3u);
  std::string statuses;
  for (const StoredRecord& record : log())
    if (record.record.type == RecordType::kToolResult) statuses += read_tool_result(record.record)->status + " ";
  EXPECT_EQ(statuses, "cancelled cancelled cancelled cancelled ");
}

TEST_F(ReadingCalls, AtMostEightRunAtOnce) {
  Gathering eight(8);
  tools_.handler = [&](const ToolCall&) {
    EXPECT_TRUE(eight.enter());
    std::this_thread::yield();
    eight.leave();
    return said("read");
  };
  open();
  model_.ask_tools(std::vector<std::pair<std::string, std::string>>(30, {"read", "{}"})).say("done");
  EXPECT_EQ(text_of(run("go")), "done");
  EXPECT_EQ(tools_.calls.size(), 30u);
  EXPECT_EQ(eight.most(), 8);
}

}  // namespace
}  // namespace agentd
