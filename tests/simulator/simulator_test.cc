// SPDX-License-Identifier: Apache-2.0
// The engine under seeds. AGENTD_SEEDS=N plays N of them, AGENTD_SEED=S that one alone; a seed that fails is printed.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "core/base/mutex.h"
#include "core/base/thread.h"
#include "core/store/lmdb/lmdb_store.h"
#include "tests/simulator/world.h"
#include "tests/support/temp_dir.h"

namespace agentd::simulator {
namespace {

std::uint64_t number_in(const char* variable, std::uint64_t otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

// In memory where there is such a place: what a seed shows does not depend on the disk.
std::filesystem::path fast_place() {
  return std::filesystem::exists("/dev/shm") ? "/dev/shm" : std::filesystem::temp_directory_path();
}

#ifndef AGENTD_ON_DISK
#define AGENTD_ON_DISK 8
#endif

// Every AGENTD_ON_DISK-th seed has the store on disk, the others one in memory.
Report play_seed(std::uint64_t seed, const std::function<void(const std::string&)>& stuck) {
  if (seed % AGENTD_ON_DISK != 0)
    return play(
        seed, [](const Clock& clock) { return make_memory_store(clock); }, stuck);
  const agentd::testing::TempDir directory(fast_place());
  const auto open = [&](const Clock& clock) {
    LmdbOptions options;
    options.directory = directory.file("store");
    auto store = open_lmdb_store(options, clock);
    if (!store) std::abort();
    return std::move(*store);
  };
  return play(seed, open, stuck);
}

#ifdef AGENTD_PLANTED

// A build of a broken engine; see CMakeLists.txt.
TEST(PlantedBug, IsFound) {
  const std::uint64_t seeds = number_in("AGENTD_SEEDS", 2'000);
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const Report report = play_seed(seed, [&](const std::string& why) {
      std::printf("found by seed %llu: %s\n", static_cast<unsigned long long>(seed), why.c_str());
      std::fflush(stdout);
      ::_exit(why.find(AGENTD_PLANTED_SHOWS) != std::string::npos ? 0 : 1);
    });
    if (report.violations.empty()) continue;
    std::printf("found by seed %llu: %s\n", static_cast<unsigned long long>(seed), report.violations.front().c_str());
    EXPECT_NE(report.violations.front().find(AGENTD_PLANTED_SHOWS), std::string::npos);
    return;
  }
  FAIL() << "none of " << seeds << " seeds has found " AGENTD_PLANTED;
}

#else

Report play_or_stop(std::uint64_t seed) {
  return play_seed(seed, [&](const std::string& why) {
    std::fprintf(stderr, "AGENTD_SEED=%llu: %s\n", static_cast<unsigned long long>(seed), why.c_str());
    ::_exit(1);
  });
}

TEST(Simulator, NoSeedBreaksAnInvariant) {
  const std::uint64_t only = number_in("AGENTD_SEED", 0);
  const std::uint64_t first = only != 0 ? only : number_in("AGENTD_FIRST_SEED", 1);
  const std::uint64_t count = only != 0 ? 1 : number_in("AGENTD_SEEDS", 500);
  Report all;
  std::uint64_t failed = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const Report one = play_or_stop(seed);
    all.runs += one.runs;
    all.effects += one.effects;
    all.kills += one.kills;
    all.compactions += one.compactions;
    all.refused += one.refused;
    all.undos += one.undos;
    all.children += one.children;
    all.together += one.together;
    all.posts += one.posts;
    all.repeated += one.repeated;
    all.switches += one.switches;
    for (const std::string& what : one.violations) ADD_FAILURE() << "AGENTD_SEED=" << seed << ": " << what;
    if (!one.violations.empty()) ++failed;
    if (failed == 10) break;
  }
  std::string seen = std::to_string(count) + " seeds";
  for (const auto& [what, times] : std::vector<std::pair<const char*, std::uint64_t> >{{"runs", all.runs},
                                                                                       {"subagents", all.children},
                                                                                       {"tools", all.effects},
                                                                                       {"together", all.together},
                                                                                       {"refused", all.refused},
                                                                                       {"compactions", all.compactions},
                                                                                       {"undos", all.undos},
                                                                                       {"posts", all.posts},
                                                                                       {"repeated", all.repeated},
                                                                                       {"kills", all.kills},
                                                                                       {"switches", all.switches}}) {
    seen += std::string(", ") + what + " " + std::to_string(times);
    if (only == 0) {
      EXPECT_GT(times, 0u) << what << ": no seed has one";
    }
  }
  std::printf("%s\n", seen.c_str());
}

TEST(Simulator, ASeedIsPlayedTheSameAgain) {
  for (const std::uint64_t seed : {3u, 8u, 21u, 64u}) {
    const Report one = play_or_stop(seed), other = play_or_stop(seed);
    EXPECT_EQ(one.switches, other.switches) << seed;
    EXPECT_EQ(one.digest, other.digest) << seed;
    EXPECT_EQ(one.runs, other.runs) << seed;
  }
}

// ---- the baton

TEST(BatonTest, FindsAnUpdateThatIsLost) {
  int lost = 0;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Baton baton(seed, [](const std::string&) { std::abort(); });
    int value = 0;
    baton.run([&] {
      const auto add = [&] {
        const int seen = value;
        baton.step();
        value = seen + 1;
      };
      Thread one(add), other(add);
    });
    lost += value != 2;
  }
  EXPECT_GT(lost, 0);
  EXPECT_LT(lost, 50);
}

TEST(BatonTest, AMutexIsHeldByOneAtATime) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Baton baton(seed, [](const std::string&) { std::abort(); });
    Mutex mutex;
    int value = 0;
    baton.run([&] {
      const auto add = [&] {
        const MutexLock lock(mutex);
        const int seen = value;
        baton.step();
        value = seen + 1;
      };
      Thread one(add), other(add), third(add);
    });
    EXPECT_EQ(value, 3) << seed;
  }
}

TEST(BatonTest, TimePassesAsSoonAsNobodyCanGoOn) {
  Baton baton(1, [](const std::string&) { std::abort(); });
  const SimulatedClock clock(baton);
  const SystemClock real;
  const std::uint64_t began = real.monotonic_ns(), simulated = clock.monotonic_ns();
  std::string order;
  baton.run([&] {
    Thread late([&] {
      clock.pause(std::chrono::hours(2));
      order += "late ";
    });
    Thread soon([&] {
      clock.pause(std::chrono::hours(1));
      order += "soon ";
    });
  });
  EXPECT_EQ(order, "soon late ");
  EXPECT_GE(clock.monotonic_ns() - simulated, 7'200'000'000'000u);
  EXPECT_LT(real.monotonic_ns() - began, 60'000'000'000u);
}

TEST(BatonTest, AWaitThatNothingEndsIsReported) {
  EXPECT_EXIT(
      {
        Baton baton(1, [](const std::string& why) {
          std::fprintf(stderr, "%s\n", why.c_str());
          ::_exit(7);
        });
        Mutex mutex;
        Condition never;
        baton.run([&] {
          const MutexLock lock(mutex);
          never.wait(mutex);
        });
      },
      ::testing::ExitedWithCode(7), "no thread can go on");
}

#endif

}  // namespace
}  // namespace agentd::simulator
