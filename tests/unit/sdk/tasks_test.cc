// SPDX-License-Identifier: Apache-2.0
// Tasks of a plugin, against the fake host.
#include <gtest/gtest.h>
#include <agentd/fake_host.hpp>
#include <agentd/tasks.hpp>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>

namespace agentd {
namespace {

using testing::fake_host;

std::atomic<int> rounds{0}, ended{0};

struct Watcher {
  static constexpr std::string_view hook_wants[] = {id::tasks};
  explicit Watcher(init& from) {
    agentd::tasks tasks(from);
    auto got = tasks.start("watcher", [this](task_view t) {
      do {
        ++seen_;
        ++rounds;
      } while (t.sleep_for(std::chrono::milliseconds(1)));
      ++ended;
    });
    if (!got) {
      from.refuse(got.status(), "no task");
      return;
    }
    task_ = std::move(*got);
  }
  void on_turn_end(call& c) {
    if (seen_ != 0) c.system_message("seen");
  }

  std::atomic<int> seen_{0};
  agentd::task task_;
};

TEST(SdkTasks, RunUntilTheObjectGoes) {
  rounds = ended = 0;
  fake_host host(&entry_for<Watcher>);
  ASSERT_EQ(host.create().status, AGENTD_OK);
  EXPECT_EQ(host.tasks.running(), std::vector<std::string>{"watcher"});
  while (rounds < 3) std::this_thread::yield();
  host.destroy();
  EXPECT_EQ(ended, 1);
  EXPECT_TRUE(host.breaches().empty());
}

TEST(SdkTasks, WithoutTheGrantTheAnswerIsDenied) {
  fake_host host(&entry_for<Watcher>);
  host.deny(id::tasks);
  EXPECT_EQ(host.create().status, AGENTD_E_DENIED);
}

struct Thrower {
  static constexpr std::string_view hook_wants[] = {id::tasks};
  explicit Thrower(init& from) : tasks_(from) {}
  agentd_status on_turn_end(call&) {
    auto got = tasks_.start("thrower", [](task_view) { throw std::runtime_error("no luck"); });
    return (*got).stop();
  }
  agentd::tasks tasks_;
};

TEST(SdkTasks, WhatATaskThrowsIsLogged) {
  fake_host host(&entry_for<Thrower>);
  host.create();
  EXPECT_EQ(host.turn_end().status, AGENTD_OK);
  ASSERT_EQ(host.log.size(), 1u);
  EXPECT_EQ(host.log[0].text, "the task thrower ended with: no luck");
  EXPECT_EQ(host.log[0].level, AGENTD_LEVEL_ERROR);
}

struct Deaf {
  static constexpr std::string_view hook_wants[] = {id::tasks};
  explicit Deaf(init& from) {
    agentd::tasks tasks(from);
    (*tasks.start("deaf", [](task_view) {
      while (rounds >= 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      ++ended;
    })).detach();
  }
  void on_turn_end(call&) {}
};

TEST(SdkTasks, OneThatDoesNotEndIsABreachOfTheContract) {
  rounds = ended = 0;
  fake_host host(&entry_for<Deaf>);
  host.create();
  host.tasks.grace = std::chrono::milliseconds(20);
  host.destroy();
  const auto breaches = host.breaches();
  ASSERT_EQ(breaches.size(), 1u);
  EXPECT_EQ(breaches[0], "the task deaf did not end when it was cancelled");
  rounds = -1;
  while (ended == 0) std::this_thread::yield();
}

struct Mover {
  static constexpr std::string_view hook_wants[] = {id::tasks};
  explicit Mover(init& from) : tasks_(from) {}
  void on_turn_end(call& c) {
    agentd::task first = std::move(*tasks_.start("one", [](task_view t) {
      while (t.sleep_for(std::chrono::milliseconds(1))) {
      }
      ++ended;
    }));
    agentd::task second = std::move(first);
    if (!first && second) c.system_message("moved");
    second = agentd::task();  // stops the one it held
    if (ended == 1) c.system_message("ended");
  }
  agentd::tasks tasks_;
};

TEST(SdkTasks, AHandleStopsItsTaskWhenItIsGivenAnother) {
  ended = 0;
  fake_host host(&entry_for<Mover>);
  host.create();
  const auto got = host.turn_end();
  ASSERT_EQ(got.actions.size(), 2u);
  EXPECT_EQ(got.actions[1].text, "ended");
}

}  // namespace
}  // namespace agentd
