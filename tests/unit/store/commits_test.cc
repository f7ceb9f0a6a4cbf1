// SPDX-License-Identifier: Apache-2.0
// Changes of many threads that share transactions.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <deque>
#include <fstream>
#include <set>
#include <thread>

#include "core/store/lmdb/commits.h"
#include "core/store/lmdb/tables.h"
#include "tests/unit/store/store_support.h"

namespace agentd {
namespace {

class CommitsTest : public testing::Test {
 protected:
  void SetUp() override {
    options_.directory = dir_ / "env";
    ASSERT_EQ(::mkdir(options_.directory.c_str(), 0700), 0);
    options_.map_bytes = options_.map_bytes_max = 8u << 20;
    auto env = Env::open(options_, clock_, true);
    ASSERT_OK(env);
    env_ = std::move(*env);
    ASSERT_OK(env_->write(Env::Room::kOrdinary, [&](Txn& txn) -> Result<void> {
      AGENTD_TRY(table_, txn.open_table("t", true));
      return {};
    }));
    limit({});
  }
  void limit(CommitLimits limits) { commits_.emplace(*env_, &use_, limits); }

  // The value of a key; empty when it is missing.
  std::string value_of(const std::string& key) const {
    const auto txn = env_->begin_read();
    const auto value = txn->get(table_, key);
    EXPECT_OK(value);
    return value && *value ? std::string(**value) : "";
  }
  StoreChange put(std::string key, std::string value = "v") {
    return [this, key = std::move(key), value = std::move(value)](Txn& txn) {
      if (txn.writes() == 0) ++transactions_;
      return txn.put(table_, key, value);
    };
  }

  struct Job {
    std::size_t bytes;
    StoreChange change;
    Result<void> result{};
  };
  static bool is_asleep(pid_t thread) {
    std::string number, name, state;
    std::ifstream("/proc/self/task/" + std::to_string(thread) + "/stat") >> number >> name >> state;
    return state == "S";
  }
  // Writes the jobs on a thread each, in their order, while a first change runs: they join its group where `bytes` of
  // it leave room, else they wait together for the next one.
  void write_during(std::size_t bytes, std::vector<Job>& jobs) {
    std::deque<std::thread> threads;
    EXPECT_OK(commits_->write(bytes, [&](Txn& txn) {
      for (Job& job : jobs) {
        std::atomic<pid_t> thread = 0;
        threads.emplace_back([this, &job, &thread] {
          thread = ::gettid();
          job.result = commits_->write(job.bytes, job.change);
        });
        while (thread == 0 || !is_asleep(thread)) std::this_thread::yield();
      }
      return txn.put(table_, "first", "v");
    }));
    for (std::thread& thread : threads) thread.join();
  }
  void write_together(std::vector<Job>& jobs) { write_during(CommitLimits{}.bytes, jobs); }

  test::TempDir dir_;
  SystemClock clock_;
  LmdbOptions options_;
  std::unique_ptr<Env> env_;
  WriterUse use_{[] { return std::uint64_t{0}; }};
  std::optional<Commits> commits_;
  MDB_dbi table_ = 0;
  std::atomic<std::size_t> transactions_ = 0;  // in which put() came first
};

TEST_F(CommitsTest, WhatWaitsTogetherIsOneTransaction) {
  std::vector<Job> jobs;
  for (int i = 0; i < 32; ++i) jobs.push_back({10, put("k" + std::to_string(i))});
  write_together(jobs);
  for (int i = 0; i < 32; ++i) {
    EXPECT_OK(jobs[static_cast<std::size_t>(i)].result);
    EXPECT_EQ(value_of("k" + std::to_string(i)), "v");
  }
  EXPECT_EQ(transactions_, 1u);
  EXPECT_EQ(use_.commits, 2u);
  EXPECT_EQ(use_.changes, 33u);
}

TEST_F(CommitsTest, WhatJoinsWhileAGroupIsPutIsInItsTransaction) {
  std::vector<Job> jobs;
  for (int i = 0; i < 8; ++i) jobs.push_back({10, put("k" + std::to_string(i))});
  jobs.push_back({10, [](Txn&) { return Result<void>(Error{Code::kConflict, "another one was faster"}); }});
  write_during(10, jobs);
  EXPECT_EQ(transactions_, 0u);
  EXPECT_EQ(use_.commits, 1u);
  for (std::size_t i = 0; i < 8; ++i) {
    EXPECT_OK(jobs[i].result);
    EXPECT_EQ(value_of("k" + std::to_string(i)), "v");
  }
  EXPECT_CODE(Code::kConflict, jobs[8].result);
}

// The first change has been put when the others join: it is not lost with them.
TEST_F(CommitsTest, WhatJoinsAndFailsHalfwayTakesNobodyWithIt) {
  std::vector<Job> jobs;
  jobs.push_back({10, put("before")});
  jobs.push_back({10, [&](Txn& txn) -> Result<void> {
                    AGENTD_TRY_VOID(txn.put(table_, "half", "v"));
                    return Error{Code::kInvalid, "the rest is missing"};
                  }});
  jobs.push_back({10, put("after")});
  // The first change runs again with the others apart, when its jobs are on their way.
  bool started = false;
  std::deque<std::thread> threads;
  EXPECT_OK(commits_->write(10, [&](Txn& txn) {
    for (std::size_t i = 0; !started && i < jobs.size(); ++i) {
      std::atomic<pid_t> thread = 0;
      threads.emplace_back([&, this, i] {
        thread = ::gettid();
        jobs[i].result = commits_->write(jobs[i].bytes, jobs[i].change);
      });
      while (thread == 0 || !is_asleep(thread)) std::this_thread::yield();
    }
    started = true;
    return txn.put(table_, "first", "v");
  }));
  for (std::thread& thread : threads) thread.join();
  EXPECT_OK(jobs[0].result);
  EXPECT_CODE(Code::kInvalid, jobs[1].result);
  EXPECT_OK(jobs[2].result);
  EXPECT_EQ(value_of("first") + value_of("before") + value_of("after"), "vvv");
  EXPECT_EQ(value_of("half"), "");
}

TEST_F(CommitsTest, AGroupHasALimitOfBytes) {
  std::vector<Job> jobs;
  for (int i = 0; i < 3; ++i) jobs.push_back({3u << 20, put("k" + std::to_string(i))});
  write_together(jobs);
  for (const Job& job : jobs) EXPECT_OK(job.result);
  EXPECT_EQ(transactions_, 3u);
}

TEST_F(CommitsTest, AChangeThatIsRefusedBeforeItWritesIsItsCallersAlone) {
  std::vector<Job> jobs;
  jobs.push_back({10, put("before")});
  jobs.push_back({10, [](Txn&) { return Result<void>(Error{Code::kConflict, "another one was faster"}); }});
  jobs.push_back({10, put("after")});
  write_together(jobs);
  EXPECT_OK(jobs[0].result);
  EXPECT_CODE(Code::kConflict, jobs[1].result);
  EXPECT_OK(jobs[2].result);
  EXPECT_EQ(value_of("before") + value_of("after"), "vv");
  EXPECT_EQ(transactions_, 1u);
}

TEST_F(CommitsTest, AChangeThatFailsHalfwayLeavesNothingAndTakesNobodyWithIt) {
  std::vector<Job> jobs;
  jobs.push_back({10, put("before")});
  jobs.push_back({10, [&](Txn& txn) -> Result<void> {
                    AGENTD_TRY_VOID(txn.put(table_, "half", "v"));
                    return Error{Code::kInvalid, "the rest is missing"};
                  }});
  jobs.push_back({10, [&](Txn& txn) -> Result<void> {
                    AGENTD_TRY_VOID(txn.put(table_, "long", "v"));
                    return txn.put(table_, std::string(600, 'k'), "v");  // LMDB refuses such a key
                  }});
  jobs.push_back({10, put("after")});
  write_together(jobs);
  EXPECT_OK(jobs[0].result);
  EXPECT_CODE(Code::kInvalid, jobs[1].result);
  EXPECT_FALSE(jobs[2].result);
  EXPECT_OK(jobs[3].result);
  EXPECT_EQ(value_of("before") + value_of("after"), "vv");
  EXPECT_EQ(value_of("half") + value_of("long"), "");
}

TEST_F(CommitsTest, AChangeThatFailsIsFoundByHalves) {
  constexpr std::size_t kJobs = 64, kBad = 41;
  std::vector<Job> jobs;
  for (std::size_t i = 0; i < kJobs; ++i) jobs.push_back({10, put("k" + std::to_string(i))});
  jobs[kBad].change = [&](Txn& txn) { return txn.put(table_, std::string(600, 'k'), "v"); };
  write_together(jobs);
  for (std::size_t i = 0; i < kJobs; ++i) {
    EXPECT_EQ(bool(jobs[i].result), i != kBad);
    EXPECT_EQ(value_of("k" + std::to_string(i)), i == kBad ? "" : "v");
  }
  // The first change, all together, and two halves at each of six levels.
  EXPECT_EQ(use_.commits, 1u + 1u + 2u * 6u);
}

TEST_F(CommitsTest, AChangeThatDoesNotFitIsRefusedAndItsNeighboursAreWritten) {
  std::vector<Job> jobs;
  jobs.push_back({10, put("before")});
  jobs.push_back({10, put("large", std::string(16u << 20, 'x'))});
  jobs.push_back({10, put("after")});
  write_together(jobs);
  EXPECT_OK(jobs[0].result);
  EXPECT_CODE(Code::kUnavailable, jobs[1].result);
  EXPECT_OK(jobs[2].result);
  EXPECT_EQ(value_of("before") + value_of("after"), "vv");
  EXPECT_EQ(value_of("large"), "");
}

TEST_F(CommitsTest, AGroupHasALimitOfChangesAndEachIsWrittenOnce) {
  limit({8});
  std::vector<Job> jobs;
  for (int i = 0; i < 100; ++i)
    jobs.push_back({10, [this, i](Txn& txn) -> Result<void> {
                      if (txn.writes() == 0) ++transactions_;
                      AGENTD_TRY(const auto value, txn.get(table_, "all"));
                      const std::string before(value.value_or(""));
                      return txn.put(table_, "all", before + std::to_string(100 + i));
                    }});
  write_together(jobs);
  const std::string all = value_of("all");
  EXPECT_EQ(all.size(), 300u);
  std::set<std::string> each;
  for (std::size_t at = 0; at < all.size(); at += 3) each.insert(all.substr(at, 3));
  EXPECT_EQ(each.size(), 100u);
  EXPECT_EQ(transactions_, 13u);
}

// A change that fails never fails another caller's.
TEST_F(CommitsTest, ManyThreadsLoseNothing) {
  constexpr int kThreads = 16, kEach = 100;
  std::vector<std::thread> threads;
  std::atomic<int> refused = 0;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < kEach; ++i) {
        const std::string key = std::to_string(t) + "/" + std::to_string(i);
        if (i % 10 == 9) {
          const auto done = commits_->write(10, [&](Txn& txn) -> Result<void> {
            if (i % 20 == 9) AGENTD_TRY_VOID(txn.put(table_, key, "half"));
            return Error{Code::kConflict, "no"};
          });
          refused += done ? 0 : 1;
        } else {
          EXPECT_OK(commits_->write(10, put(key, key)));
          EXPECT_EQ(value_of(key), key);
        }
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(refused, kThreads * kEach / 10);
  for (int t = 0; t < kThreads; ++t)
    for (int i = 0; i < kEach; ++i) {
      const std::string key = std::to_string(t) + "/" + std::to_string(i);
      EXPECT_EQ(value_of(key), i % 10 == 9 ? "" : key);
    }
}

}  // namespace
}  // namespace agentd
