// SPDX-License-Identifier: Apache-2.0
#include "core/bridge/tasks.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <latch>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "core/conversation/rows.h"

namespace agentd {
namespace {

bool is_told(const agentd_live* live) { return std::atomic_ref(const_cast<std::uint32_t&>(live->cancel)).load() != 0; }

void until_told(const agentd_live* live) {
  while (!is_told(live)) std::this_thread::sleep_for(Milliseconds(1));
}

// A lambda as the body of a task; outlives it.
struct Body {
  std::function<void(const agentd_live*)> fn;
  static void AGENTD_CALL run(void* me, const agentd_live* live) noexcept { static_cast<Body*>(me)->fn(live); }
};

class Tasks : public ::testing::Test {
 protected:
  agentd_status start(std::string_view name, std::function<void(const agentd_live*)> fn, std::uint64_t* out) {
    bodies_.push_back(std::make_unique<Body>(Body{std::move(fn)}));
    return table_->start(table_, to_abi(name), Body::run, bodies_.back().get(), out);
  }
  std::uint64_t started(std::string_view name, std::function<void(const agentd_live*)> fn) {
    std::uint64_t id = 0;
    EXPECT_EQ(start(name, std::move(fn), &id), AGENTD_OK);
    EXPECT_NE(id, 0u);
    return id;
  }

  std::vector<std::unique_ptr<Body>> bodies_;
  std::unique_ptr<TaskPool> pool_ = std::make_unique<TaskPool>();
  const agentd_tasks* table_ = pool_->table();
};

std::set<std::string> thread_names() {
  std::set<std::string> out;
  for (const auto& each : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::getline(std::ifstream(each.path() / "comm"), name);
    out.insert(name);
  }
  return out;
}

TEST_F(Tasks, NameIsTheThreadsAndIsCutAtACharacter) {
  std::latch running(2);
  const auto body = [&](const agentd_live* live) {
    running.count_down();
    until_told(live);
  };
  started("index of files, slowly", body);
  started("fourteen bytes\xc3\xa9", body);  // the 15th byte would be half of the last character
  running.wait();
  EXPECT_TRUE(thread_names().contains("index of files,"));
  EXPECT_TRUE(thread_names().contains("fourteen bytes"));
  EXPECT_TRUE(pool_->stop_all(SystemClock(), Milliseconds(5'000)).empty());
  EXPECT_FALSE(thread_names().contains("fourteen bytes"));
}

TEST_F(Tasks, StopTellsTheTaskAndWaitsForItsEnd) {
  std::atomic<std::uint32_t> reason{0};
  const auto id = started("a", [&](const agentd_live* live) {
    until_told(live);
    std::this_thread::sleep_for(Milliseconds(20));
    reason = live->cancel;
  });
  EXPECT_EQ(table_->stop(table_, id), AGENTD_OK);
  EXPECT_EQ(reason, AGENTD_CANCEL_USER);
}

TEST_F(Tasks, StoppingOneThatHasEndedIsFineAndOneThatNeverWasIsNotFound) {
  const auto id = started("a", [](const agentd_live*) {});
  EXPECT_EQ(table_->stop(table_, id), AGENTD_OK);
  EXPECT_EQ(table_->stop(table_, id), AGENTD_OK);
  EXPECT_EQ(table_->stop(table_, id + 1), AGENTD_E_NOT_FOUND);
  EXPECT_EQ(table_->stop(table_, 0), AGENTD_E_NOT_FOUND);
}

TEST_F(Tasks, ATaskCannotStopItself) {
  std::atomic<std::uint64_t> own{0};
  std::atomic<int> answer{99};
  own = started("a", [&](const agentd_live*) {
    while (own == 0) std::this_thread::yield();
    answer = table_->stop(table_, own);
  });
  EXPECT_TRUE(pool_->stop_all(SystemClock(), Milliseconds(5'000)).empty());
  EXPECT_EQ(answer, AGENTD_E_THREAD);
}

TEST_F(Tasks, TwoMayStopTheSameTask) {
  const auto id = started("a", until_told);
  std::array<int, 2> answers{99, 99};
  std::vector<std::thread> both;
  for (int& answer : answers) both.emplace_back([&, id] { answer = table_->stop(table_, id); });
  for (std::thread& each : both) each.join();
  EXPECT_EQ(answers[0], AGENTD_OK);
  EXPECT_EQ(answers[1], AGENTD_OK);
}

TEST_F(Tasks, TheSeventeenthAtOnceIsRefusedAndAnotherOneAfterAnEndIsNot) {
  std::vector<std::uint64_t> ids;
  for (unsigned i = 0; i < AGENTD_TASKS_MAX; ++i) ids.push_back(started("many", until_told));
  std::uint64_t id = 77;
  EXPECT_EQ(start("one more", until_told, &id), AGENTD_E_BUSY);
  EXPECT_EQ(table_->stop(table_, ids[3]), AGENTD_OK);
  started("one more", until_told);
  EXPECT_TRUE(pool_->stop_all(SystemClock(), Milliseconds(5'000)).empty());
}

TEST_F(Tasks, ManyShortOnesOneAfterAnotherNeverFillTheTable) {
  std::atomic<int> ran{0};
  for (int i = 0; i < 200; ++i) {
    std::uint64_t id = 0;
    while (start(
               "short", [&](const agentd_live*) { ++ran; }, &id) == AGENTD_E_BUSY)
      std::this_thread::yield();
  }
  EXPECT_TRUE(pool_->stop_all(SystemClock(), Milliseconds(5'000)).empty());
  EXPECT_EQ(ran, 200);
}

TEST_F(Tasks, NothingStartsOnceDestroyHasBegun) {
  std::atomic<int> answer{99};
  started("a", [&](const agentd_live* live) {
    until_told(live);
    std::uint64_t id = 0;
    answer = table_->start(table_, to_abi("late"), Body::run, nullptr, &id);
  });
  EXPECT_TRUE(pool_->stop_all(SystemClock(), Milliseconds(5'000)).empty());
  EXPECT_EQ(answer, AGENTD_E_CANCELLED);
  std::uint64_t id = 0;
  EXPECT_EQ(start("late", until_told, &id), AGENTD_E_CANCELLED);
}

TEST_F(Tasks, StopAllSaysWhy) {
  std::atomic<std::uint32_t> reason{0};
  started("a", [&](const agentd_live* live) {
    until_told(live);
    reason = live->cancel;
  });
  pool_->stop_all(SystemClock(), Milliseconds(5'000));
  EXPECT_EQ(reason, AGENTD_CANCEL_SHUTDOWN);
}

TEST_F(Tasks, ATaskThatNeverEndsIsNamedAndGoesOnAfterThePool) {
  std::atomic<bool> ends{false}, over{false};
  std::atomic<int> late{99};
  started("good", until_told);
  started("deaf", [&](const agentd_live* live) {
    while (!ends) std::this_thread::sleep_for(Milliseconds(1));
    std::uint64_t id = 0;
    late = table_->start(table_, to_abi("x"), Body::run, nullptr, &id);  // the table is still there
    over = is_told(live);
  });
  EXPECT_EQ(pool_->stop_all(SystemClock(), Milliseconds(30)), std::vector<std::string>{"deaf"});
  pool_.reset();
  ends = true;
  while (!over) std::this_thread::sleep_for(Milliseconds(1));
  EXPECT_EQ(late, AGENTD_E_CANCELLED);
}

TEST_F(Tasks, ArgumentsAreChecked) {
  std::uint64_t id = 0;
  EXPECT_EQ(table_->start(table_, to_abi("x"), nullptr, nullptr, &id), AGENTD_E_ARG);
  EXPECT_EQ(table_->start(table_, to_abi("x"), Body::run, nullptr, nullptr), AGENTD_E_ARG);
}

TEST_F(Tasks, ThreadLocalsOfATaskAreGoneWhenStopReturns) {
  static std::atomic<int> destroyed{0};
  struct Local {
    ~Local() {
      std::this_thread::sleep_for(Milliseconds(30));
      ++destroyed;
    }
    int touched = 0;
  };
  destroyed = 0;
  const auto id = started("a", [](const agentd_live*) {
    static thread_local Local local;
    ++local.touched;
  });
  table_->stop(table_, id);
  EXPECT_EQ(destroyed, 1);
}

TEST_F(Tasks, SignalsGoToTheHostsThreads) {
  std::atomic<int> blocked{-1};
  const auto id = started("a", [&](const agentd_live*) {
    sigset_t now;
    ::pthread_sigmask(SIG_BLOCK, nullptr, &now);
    blocked = sigismember(&now, SIGINT) == 1 && sigismember(&now, SIGSEGV) == 0;
  });
  table_->stop(table_, id);
  EXPECT_EQ(blocked, 1);
  sigset_t own;
  ::pthread_sigmask(SIG_BLOCK, nullptr, &own);
  EXPECT_EQ(sigismember(&own, SIGINT), 0);
}

}  // namespace
}  // namespace agentd
