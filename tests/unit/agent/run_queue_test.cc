// SPDX-License-Identifier: Apache-2.0
// The limits of a process: what waits, in which order, and what is answered when a limit is reached.
#include "core/agent/run_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "core/base/thread.h"
#include "tests/support/agent_fixture.h"

namespace agentd {
namespace {

using testing::AgentTest;

// Runs that wait in threads of their own; each says when its turn came, and leaves at once.
class Waiting {
 public:
  explicit Waiting(RunQueue& queue) : queue_(queue) {}

  // Returns when the run waits.
  void add(const std::string& project, const std::string& name, const CancelToken& cancel = {}) {
    const std::uint64_t before = queue_.counts().waiting;
    threads_.emplace_back([this, project, name, cancel] {
      const auto place = queue_.enter(project, cancel);
      const MutexLock lock(mutex_);
      order_ += (order_.empty() ? "" : " ") + name + (place ? "" : " " + std::string(name_of(place.error().code)));
    });
    while (queue_.counts().waiting == before) clock_.pause(Milliseconds(1));
  }
  std::string order() {
    for (Thread& thread : threads_)
      if (thread.joinable()) thread.join();
    const MutexLock lock(mutex_);
    return order_;
  }
  // Returns when the text is what they have said.
  void wait_for(const std::string& order) {
    const auto seen = [&] {
      const MutexLock lock(mutex_);
      return order_ == order;
    };
    while (!seen()) clock_.pause(Milliseconds(1));
  }

 private:
  RunQueue& queue_;
  const SystemClock clock_{};
  Mutex mutex_;
  std::string order_ GUARDED_BY(mutex_);
  std::vector<Thread> threads_;
};

std::optional<RunQueue::RunPlace> placed(RunQueue& queue, const std::string& project = "p") {
  auto place = queue.enter(project, {});
  EXPECT_TRUE(place) << place.error().message;
  if (!place) return std::nullopt;
  return std::move(*place);
}

class RunQueueTest : public ::testing::Test {
 protected:
  const SystemClock clock_{};
};

TEST_F(RunQueueTest, TheRunsOfAProjectBeginInTheirOrder) {
  RunQueue queue(clock_, {1, 10, 10});
  auto first = placed(queue);
  Waiting waiting(queue);
  for (const char* const name : {"a", "b", "c"}) waiting.add("p", name);
  EXPECT_EQ(queue.counts().active, 1u);
  EXPECT_EQ(queue.counts().waiting, 3u);
  first.reset();
  EXPECT_EQ(waiting.order(), "a b c");
  EXPECT_EQ(queue.counts().active, 0u);
}

TEST_F(RunQueueTest, ProjectsTakeTurns) {
  RunQueue queue(clock_, {1, 10, 10});
  auto first = placed(queue, "a");
  Waiting waiting(queue);
  for (const char* const name : {"a1", "a2", "a3", "a4"}) waiting.add("a", name);
  for (const char* const name : {"b1", "b2"}) waiting.add("b", name);
  waiting.add("c", "c1");
  first.reset();
  EXPECT_EQ(waiting.order(), "a1 b1 c1 a2 b2 a3 a4");
}

TEST_F(RunQueueTest, AsManyAreActiveAsMayBe) {
  RunQueue queue(clock_, {3, 10, 10});
  auto one = placed(queue), two = placed(queue), three = placed(queue);
  Waiting waiting(queue);
  waiting.add("p", "a");
  EXPECT_EQ(queue.counts().active, 3u);
  two.reset();
  EXPECT_EQ(waiting.order(), "a");
}

TEST_F(RunQueueTest, ACancelTakesAWaitingRunOutAtOnce) {
  RunQueue queue(clock_, {1, 10, 10});
  auto first = placed(queue);
  Waiting waiting(queue);
  const CancelToken of_first, of_last;
  waiting.add("p", "a", of_first);
  waiting.add("p", "b");
  waiting.add("q", "c", of_last);
  of_first.cancel(AGENTD_CANCEL_USER);  // the one that looks for all
  waiting.wait_for("a cancelled");
  of_last.cancel(AGENTD_CANCEL_USER);  // somebody else looks now
  waiting.wait_for("a cancelled c cancelled");
  first.reset();
  EXPECT_EQ(waiting.order(), "a cancelled c cancelled b");
}

TEST_F(RunQueueTest, ACancelledRunDoesNotWait) {
  RunQueue queue(clock_, {1, 10, 10});
  auto first = placed(queue);
  const CancelToken cancel;
  cancel.cancel(AGENTD_CANCEL_USER);
  const auto place = queue.enter("p", cancel);
  ASSERT_FALSE(place);
  EXPECT_EQ(place.error().code, Code::kCancelled);
  EXPECT_EQ(queue.counts().waiting, 0u);
}

TEST_F(RunQueueTest, WhoFindsItFullIsToldTheLimitAndATime) {
  ManualClock clock;
  RunQueue queue(clock, {2, 1, 10});
  {
    auto usual = placed(queue);
    clock.advance(Milliseconds(11'500));
  }
  auto one = placed(queue), two = placed(queue);
  Waiting waiting(queue);
  waiting.add("p", "a");
  // One waits, and whoever comes is behind it: two runs of 11.5 s in two places.
  auto refused = queue.enter("p", {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kBusy);
  EXPECT_EQ(refused.error().message,
            "2 runs are active and 1 waits, the limit of sessions.queued_runs: try again in about 12 s");
  // The active runs take longer than the ended ones.
  clock.advance(std::chrono::minutes(10));
  refused = queue.enter("p", {});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("try again in about 11 min"), std::string::npos) << refused.error().message;
  one.reset();
  EXPECT_EQ(waiting.order(), "a");
}

TEST_F(RunQueueTest, WithoutAQueueTheActiveRunsAreTheLimit) {
  RunQueue queue(clock_, {1, 0, 10});
  auto first = placed(queue);
  const auto refused = queue.enter("p", {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "1 run is active, the limit of sessions.active_runs: try again in about 1 s");
}

TEST_F(RunQueueTest, ManyComeAndGo) {
  RunQueue queue(clock_, {3, 1'000, 10});
  std::atomic<int> active = 0, most = 0, cancelled = 0;
  call_together(200, 39, [&](std::size_t i) {
    const CancelToken cancel;
    if (i % 5 == 0) cancel.cancel(AGENTD_CANCEL_USER);
    const auto place = queue.enter("p" + std::to_string(i % 7), cancel);
    if (!place) {
      ++cancelled;
      return;
    }
    const int now = ++active;
    for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) continue;
    clock_.pause(Milliseconds(1));
    --active;
  });
  EXPECT_LE(most, 3);
  EXPECT_LE(cancelled, 40);
  EXPECT_EQ(queue.counts().active + queue.counts().waiting, 0u);
}

// ---- sessions

class SessionLimits : public AgentTest {
 protected:
  // Used by open() and its like.
  RunQueue& limit(RunQueue::Limits limits) { return *(runs_ = &queue_.emplace(clock_, limits)); }
  ~SessionLimits() override { session_.reset(); }

  std::optional<RunQueue> queue_;
};

TEST_F(SessionLimits, ARunACompactionAndAnUndoTakeAPlace) {
  RunQueue& queue = limit({1, 0, 10});
  open();
  model_.during = [&](const ModelRequest&) { EXPECT_EQ(queue.counts().active, 1u); };
  model_.say("one").say("a summary");
  ASSERT_TRUE(run("go"));
  EXPECT_EQ(queue.counts().active, 0u);
  ASSERT_TRUE(session_->compact({}, false, {}));
  auto taken = placed(queue);
  const auto refused = run("again");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, RunError::Kind::kBusy);
  EXPECT_NE(refused.error().message.find("the limit of sessions.active_runs"), std::string::npos);
  EXPECT_EQ(session_->compact({}, false, {}).error().kind, RunError::Kind::kBusy);
  EXPECT_EQ(session_->undo(true, {}).error().kind, RunError::Kind::kBusy);
}

TEST_F(SessionLimits, ARefusedRunHoldsNoLeaseAndChangesNothing) {
  RunQueue& queue = limit({1, 0, 10});
  open();
  model_.say("one").say("two");
  ASSERT_TRUE(run("first"));
  const std::string before = kinds();
  auto taken = placed(queue);
  ASSERT_FALSE(run("second"));
  EXPECT_EQ(kinds(), before);
  EXPECT_TRUE(store_.lease(id()));
  taken.reset();
  EXPECT_EQ(text_of(run("second")), "two");
}

TEST_F(SessionLimits, AWaitingRunHoldsNoLeaseAndIsInterrupted) {
  RunQueue& queue = limit({1, 10, 10});
  open();
  model_.say("one");
  ASSERT_TRUE(run("first"));
  auto taken = placed(queue);
  std::optional<RunError> error;
  Thread waits([&] { error = run("second").error(); });
  const SystemClock clock;
  while (queue.counts().waiting == 0) clock.pause(Milliseconds(1));
  EXPECT_TRUE(store_.lease(id()));
  cancel_.cancel(AGENTD_CANCEL_USER);
  waits.join();
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind, RunError::Kind::kCancelled);
  EXPECT_EQ(model_.requests.size(), 1u);
}

TEST_F(SessionLimits, ASubagentWorksInThePlaceOfItsParent) {
  RunQueue& queue = limit({1, 0, 1});
  options_.subagents = true;
  open();
  std::uint64_t most = 0;
  model_.during = [&](const ModelRequest&) { most = std::max(most, queue.counts().active); };
  model_.ask_tools({{"task", R"({"description":"look","prompt":"find it"})"}}).say("found").say("done");
  EXPECT_EQ(text_of(run("go")), "done");
  EXPECT_EQ(model_.requests.size(), 3u);
  EXPECT_EQ(most, 1u);
}

TEST_F(SessionLimits, AnEndedSessionLeavesItsPlace) {
  RunQueue& queue = limit({1, 0, 1});
  open();
  const auto refused = agent_->open(std::nullopt, {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, RunError::Kind::kBusy);
  EXPECT_EQ(refused.error().message,
            "1 session is open, the limit of sessions.open: close one first, or raise the limit");
  // A new conversation takes the place of the old one.
  auto cleared = agent_->clear(*session_, {});
  ASSERT_TRUE(cleared) << cleared.error().message;
  EXPECT_EQ(queue.counts().open, 1u);
  cleared->reset();
  EXPECT_EQ(queue.counts().open, 0u);
}

TEST_F(SessionLimits, AMessageBeyondTheLimitIsRefusedAndTheOthersStay) {
  settings_.posted_messages = 2;
  open();
  EXPECT_TRUE(session_->post({PostedMessage::Kind::kSteer, "one"}));
  EXPECT_TRUE(session_->post({PostedMessage::Kind::kFollowUp, "two"}));
  const auto refused = session_->post({PostedMessage::Kind::kSteer, "three"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, RunError::Kind::kBusy);
  EXPECT_EQ(refused.error().message,
            "2 posted messages wait in this session, the limit of sessions.posted_messages: try again after the next "
            "request of its run");
  const auto back = session_->take_posted();
  ASSERT_EQ(back.size(), 2u);
  EXPECT_EQ(back[0].text + back[1].text, "onetwo");
  EXPECT_TRUE(session_->post({PostedMessage::Kind::kSteer, "three"}));
}

}  // namespace
}  // namespace agentd
