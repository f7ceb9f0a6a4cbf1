// SPDX-License-Identifier: Apache-2.0
// Threads wait through core/base, and each way around it is found.
#include "tests/tidy/waiting.h"

#include "tests/tidy/small_tree.h"

namespace tidy {
namespace {

TEST_F(Tree, MayWaitThroughTheBase) {
  code(
      "core/agent/good.cc",
      "#include \"core/base/mutex.h\"\nint A::poll(Deadline d) const { return clock_.poll(all, d); }\n"
      "// not std::mutex, not ::poll(\nstd::thread::id who;\n  return Scheduler::current().poll(all, at);\n"
      "  while (clock->sleep(time, cancel)) wait_for_poll(1);\n  virtual int poll(std::span<pollfd> all) const = 0;\n");
  code("core/base/futex.cc", "  ::syscall(SYS_futex, &word);\n");
  code("tests/unit/base/b_test.cc", "std::mutex mutex;\n");
  EXPECT_EQ(joined(other_waits(root_)), "");
}

TEST_F(Tree, WithALockThatIsNotTheBasesIsFound) {
  code("core/agent/bad.cc", "  std::mutex mutex_;\n");
  EXPECT_EQ(other_waits(root_),
            Findings{"core/agent/bad.cc:2: std::mutex waits past the clock: use Mutex of core/base"});
}

TEST_F(Tree, WithAWaitPastTheClockIsFound) {
  for (const char* const line :
       {"std::condition_variable changed_;", "const std::lock_guard lock(m);", "std::unique_lock<M> lock(m);",
        "std::shared_mutex m;", "std::call_once(once, f);", "std::thread([] {}).detach();", "std::jthread t(f);",
        "std::this_thread::sleep_for(x);", "::usleep(1);", "  usleep(1);", "::nanosleep(&t, nullptr);", "  sleep(1);",
        "(void)::poll(nullptr, 0, 1);", "return poll(&one, 1, -1);", "if (!::poll(a, 1, 0)) x();",
        "::select(1, a, b, c, d);", "::epoll_wait(fd, all, 1, -1);", "syscall(SYS_futex, &w);",
        "syscall(SYS_futex_waitv, w);"}) {
    code("providers/one/bad.cc", std::string(line) + "\n");
    EXPECT_EQ(other_waits(root_).size(), 1u) << line;
  }
}

TEST(ThisTree, WaitsThroughTheBase) { EXPECT_EQ(joined(other_waits(kRoot)), ""); }

}  // namespace
}  // namespace tidy
