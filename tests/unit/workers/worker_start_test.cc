// SPDX-License-Identifier: Apache-2.0
// worker_start_test.cc - a worker that takes long to start: what its calls hear, and when it is
// there.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/unit/workers/worker_fixture.h"

namespace agentd {
namespace {

using testing::children;
using testing::eventually;
using testing::Said;
using testing::WorkerFixture;
using testing::workers;

Milliseconds since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration_cast<Milliseconds>(std::chrono::steady_clock::now() - start);
}

// Its program is a link that the test turns to a slow one.
class WorkerStart : public ::testing::Test {
 protected:
  WorkerStart() {
    std::filesystem::create_symlink(AGENTD_HOOK_WORKER, link_);
    fixture_.install("moods");
    fixture_.options.worker.program = link_;
    fixture_.options.worker.zygote = false;
    fixture_.options.worker.crashes_max = 1'000;
    fixture_.options.plugins["moods"].on_failure = FailurePolicy::kClosed;
  }
  // Each start leaves a line in the file `starts`.
  void make_starts_last(const std::string& seconds) {
    fixture_.temp.write("slow", "#!/bin/sh\necho >> " + fixture_.temp.file("starts") + "\nsleep " + seconds +
                                    "\nexec " + AGENTD_HOOK_WORKER + " \"$@\"\n");
    std::filesystem::permissions(fixture_.temp.file("slow"), std::filesystem::perms::owner_all);
    std::filesystem::remove(link_);
    std::filesystem::create_symlink(fixture_.temp.file("slow"), link_);
  }
  std::ptrdiff_t starts() const {
    std::ifstream in(fixture_.temp.file("starts"));
    return std::count(std::istreambuf_iterator<char>(in), {}, '\n');
  }
  void crash(int times) {
    for (int i = 0; i < times; ++i)
      ASSERT_EQ(fixture_.ask("crash").failure, "its worker was killed by signal 11 (SIGSEGV)");
  }

  WorkerFixture fixture_;
  const std::string link_ = fixture_.temp.file("worker");
};

TEST_F(WorkerStart, GoesOnWhenTheCallThatWantedItGivesUp) {
  fixture_.load();
  crash(1);
  make_starts_last("0.5");
  const auto start = std::chrono::steady_clock::now();
  const Said said = fixture_.ask("bash", {Milliseconds(50), 0, {}});
  EXPECT_EQ(said.status, AGENTD_E_DEADLINE) << said;
  EXPECT_TRUE(said.blocked && said.by_failure) << said;
  EXPECT_LT(since(start), Milliseconds(450)) << "it has its own time and no more";
  std::string reason;
  for (int i = 0; i < 200 && reason != "no shell here"; ++i)
    reason = fixture_.ask("bash", {Milliseconds(50), 0, {}}).reason;
  EXPECT_EQ(reason, "no shell here");
  EXPECT_EQ(starts(), 1);
  EXPECT_EQ(workers().size(), 1u);
}

TEST_F(WorkerStart, OfACallThatIsCancelledGoesOnToo) {
  fixture_.load();
  crash(1);
  make_starts_last("0.5");
  CancelToken cancel;
  cancel.cancel(AGENTD_CANCEL_USER);
  EXPECT_EQ(fixture_.ask("bash", {Milliseconds(10'000), 0, cancel}).status, AGENTD_E_CANCELLED);
  EXPECT_EQ(fixture_.ask("bash").reason, "no shell here");
  EXPECT_EQ(starts(), 1);
}

TEST_F(WorkerStart, ThatAPauseIsLeftBeforeIsNotWaitedForInVain) {
  fixture_.options.worker.first_pause = fixture_.options.worker.pause_max = Milliseconds(60'000);
  fixture_.load();
  crash(2);
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 5; ++i) {
    const Said said = fixture_.ask("bash", {Milliseconds(2'000), 0, {}});
    EXPECT_EQ(said.failure, "its worker is being started again");
    EXPECT_TRUE(said.blocked && said.by_failure) << said;
  }
  fixture_.host.reset();
  EXPECT_LT(since(start), Milliseconds(2'000)) << "nor is the end";
}

TEST_F(WorkerStart, AfterAPauseIsWaitedForByACallThatHasTheTime) {
  fixture_.options.worker.first_pause = Milliseconds(300);
  fixture_.load();
  crash(2);
  EXPECT_EQ(fixture_.ask("bash").reason, "no shell here");
}

TEST_F(WorkerStart, ThatIsUnderWayAtTheEndLeavesNothing) {
  fixture_.load();
  crash(1);
  make_starts_last("0.3");
  (void)fixture_.ask("bash", {Milliseconds(50), 0, {}});
  fixture_.host.reset();
  EXPECT_TRUE(eventually([] { return children().empty(); }));
}

}  // namespace
}  // namespace agentd
