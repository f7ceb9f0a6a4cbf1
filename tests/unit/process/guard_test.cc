// SPDX-License-Identifier: Apache-2.0
#include "core/process/guard.h"

#include <unistd.h>

#include <fstream>
#include <iterator>
#include <optional>
#include <string>

#include "tests/unit/process/children.h"

namespace agentd {
namespace {

class GuardTest : public Children {
 protected:
  // A process that runs a command, as agentd does, until it is killed; with or without a guard.
  pid_t start_host(const char* command, bool guarded) {
    const pid_t host = ::fork();
    if (host != 0) return host;
    (void)adopt_orphans();
    char name[] = "a long name of a program";
    char* names[] = {name, nullptr};  // as main's, they exist to the end
    std::optional<Guard> guard;
    if (guarded) guard.emplace(1, names);
    ProcessRequest request;
    request.argv = {"/bin/sh", "-c", command};
    request.environment = environment();
    (void)run_process(request, clock_, cancel_, {});
    guard.reset();
    ::_exit(0);
  }
  // REQUIRES: the host has started its command.
  static pid_t guard_of(pid_t host) {
    const std::string number = std::to_string(host);
    for (int i = 0; i < 1'000; ++i, ::usleep(10'000)) {
      std::ifstream children("/proc/" + number + "/task/" + number + "/children");
      for (pid_t child = 0; children >> child;)
        if (name_of(child) == "process-guard") return child;
    }
    return -1;
  }
  static std::string name_of(pid_t pid) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/comm");
    std::string out;
    std::getline(file, out);
    return out;
  }
  static void kill_host(pid_t host) {
    ::kill(host, SIGKILL);
    ::waitpid(host, nullptr, 0);
  }
  // Waits at most ten seconds.
  static bool ends(pid_t pid) {
    for (int i = 0; i < 1'000 && alive(pid); ++i) ::usleep(10'000);
    return !alive(pid);
  }
};

TEST_F(GuardTest, WhatAKilledProcessHasStartedEndsWithIt) {
  int place = 0;
  for (const char* const command : kHidingPlaces) {
    SCOPED_TRACE(std::to_string(place++) + ": " + command);
    std::filesystem::remove(folder_.file("ready"));
    std::filesystem::remove(folder_.file("ready.late"));
    const pid_t host = start_host(command, true);
    const pid_t hidden = pid_in("ready");
    ASSERT_GT(hidden, 0);
    ASSERT_TRUE(alive(hidden));
    const pid_t guard = guard_of(host);
    ASSERT_GT(guard, 0);
    kill_host(host);
    EXPECT_TRUE(ends(hidden));
    EXPECT_TRUE(ends(guard));
    if (std::filesystem::exists(folder_.file("ready.late"))) {
      EXPECT_TRUE(ends(pid_in("ready.late")));
    }
  }
}

// The control: nothing else ends them.
TEST_F(GuardTest, WithoutAGuardTheyContinue) {
  const pid_t host = start_host("(setsid sh -c 'echo $$ >$F; exec sleep 600' &); sleep 600", false);
  const pid_t hidden = pid_in("ready");
  kill_host(host);
  ::usleep(500'000);
  EXPECT_TRUE(alive(hidden));
  if (hidden > 0) ::kill(hidden, SIGKILL);
}

TEST_F(GuardTest, ANormalEndLeavesNoServerRunning) {
  const pid_t host = start_host(
      "(setsid sh -c 'echo $$ >$F; exec sleep 600' </dev/null >/dev/null 2>&1 &); "
      "until test -s $F; do sleep 0.01; done",
      true);
  const pid_t hidden = pid_in("ready");
  int status = 0;
  ASSERT_EQ(::waitpid(host, &status, 0), host);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_FALSE(alive(hidden));
  if (hidden > 0) ::kill(hidden, SIGKILL);
}

// A container may have no process that reaps orphans.
TEST_F(GuardTest, IsReapedAtANormalEnd) {
  const pid_t owner = ::fork();
  if (owner == 0) {
    pid_t guarding = -1;
    {
      char name[] = "owner";
      char* argv[] = {name, nullptr};
      const Guard guard(1, argv);
      if (guard.pid() != -1) ::_exit(2);
      { const Birth alone(Offspring::kNone); }
      if (guard.pid() != -1) ::_exit(3);
      const Birth first(Offspring::kAny);
      guarding = guard.pid();
    }
    ::_exit(guarding > 0 && ::kill(guarding, 0) != 0 && errno == ESRCH ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(owner, &status, 0), owner);
  EXPECT_EQ(status, 0);
}

TEST_F(GuardTest, HasANameOfItsOwnAndHoldsNothing) {
  const pid_t host = start_host("echo $$ >$F; exec sleep 600", true);
  ASSERT_GT(pid_in("ready"), 0);
  const pid_t guard = guard_of(host);
  const std::string proc = "/proc/" + std::to_string(guard);
  const auto open = [&] {
    const std::filesystem::directory_iterator all(proc + "/fd");
    return std::distance(begin(all), end(all));
  };
  for (int i = 0; i < 1'000 && open() != 1; ++i) ::usleep(10'000);
  EXPECT_EQ(name_of(guard), "process-guard");
  EXPECT_EQ(open(), 1) << "a view of its host alone";
  EXPECT_EQ(::getsid(guard), guard);
  kill_host(host);
  EXPECT_TRUE(ends(guard));
}

// It ignores processes of others, and of hosts that live.
TEST_F(GuardTest, TouchesNoOtherProcess) {
  const pid_t other = start_host("echo $$ >$F; exec sleep 600", true);
  const pid_t its_own = pid_in("ready"), its_guard = guard_of(other);
  std::filesystem::remove(folder_.file("ready"));
  const pid_t host = start_host("echo $$ >$F; exec sleep 600", true);
  const pid_t command = pid_in("ready"), guard = guard_of(host);
  kill_host(host);
  EXPECT_TRUE(ends(command));
  EXPECT_TRUE(ends(guard));
  EXPECT_TRUE(alive(its_own));
  EXPECT_TRUE(alive(its_guard));
  kill_host(other);
  EXPECT_TRUE(ends(its_own));
}

}  // namespace
}  // namespace agentd
