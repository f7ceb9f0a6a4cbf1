// SPDX-License-Identifier: Apache-2.0
// spawn_test.cc - passed descriptors, and how a child ended.
#include "core/process/spawn.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "core/base/file.h"

namespace agentd {
namespace {

UniqueFd memory_with(const std::string& text) {
  UniqueFd fd(::memfd_create("test", MFD_CLOEXEC));
  EXPECT_TRUE(write_all(fd.get(), text));
  ::lseek(fd.get(), 0, SEEK_SET);
  return fd;
}

struct Ran {
  std::string output;
  Exit exit;
};

Ran run(const std::string& script, const std::vector<int>& pass) {
  const std::vector<std::string> argv{"/bin/sh", "-c", script}, environment{"PATH=/usr/bin:/bin"};
  SpawnRequest request{argv, environment, {}};
  request.pass = pass;
  auto child = spawn(request);
  EXPECT_TRUE(child) << child.error().message;
  Ran out;
  char buffer[4096];
  for (ssize_t got = 0; (got = ::read(child->output.get(), buffer, sizeof buffer)) > 0;)
    out.output.append(buffer, static_cast<std::size_t>(got));
  out.exit = *reap(*child, "sh", true);
  return out;
}

TEST(Spawn, PassesDescriptorsOnInTheirOrder) {
  const UniqueFd first = memory_with("first"), second = memory_with("second"), third = memory_with("third");
  EXPECT_EQ(run("cat <&3; cat <&4; cat <&5", {third.get(), first.get(), second.get()}).output, "thirdfirstsecond");
}

TEST(Spawn, PassesDescriptorsThatLieWhereOthersGo) {
  // A process that opens the lowest numbers has them at 3, 4 and 5, in another order.
  std::vector<UniqueFd> files;
  for (const char* text : {"a", "b", "c", "d", "e", "f"}) files.push_back(memory_with(text));
  EXPECT_EQ(run("cat <&3; cat <&4; cat <&5", {files[5].get(), files[0].get(), files[1].get()}).output, "fab");
  EXPECT_EQ(run("cat <&3; cat <&4", {files[2].get(), files[2].get()}).output,
            "c");  // one offset, shared
}

TEST(Spawn, PassesNothingElse) {
  const UniqueFd passed = memory_with("x"), other = memory_with("y");
  ::fcntl(other.get(), F_SETFD, 0);  // even one that is not close-on-exec
  const int far = ::fcntl(other.get(), F_DUPFD, 100);
  const std::string script = "fd=0; while [ $fd -lt 200 ]; do [ -e /proc/$$/fd/$fd ] && echo $fd; fd=$((fd + 1)); done";
  EXPECT_EQ(run(script, {passed.get()}).output, "0\n1\n2\n3\n");
  ::close(far);
}

TEST(Spawn, LeavesTheCallersDescriptorsAlone) {
  const UniqueFd passed = memory_with("x");
  const int before = ::fcntl(passed.get(), F_GETFD);
  (void)run("true", {passed.get(), passed.get()});
  EXPECT_EQ(::fcntl(passed.get(), F_GETFD), before);
}

TEST(Spawn, FailsOnADescriptorThatIsNotOpen) {
  const std::vector<std::string> argv{"/bin/true"}, environment;
  const std::vector<int> pass{-1};
  SpawnRequest request{argv, environment, {}};
  request.pass = pass;
  const auto child = spawn(request);
  ASSERT_FALSE(child);
  EXPECT_NE(child.error().message.find("passing a descriptor"), std::string::npos) << child.error().message;
}

TEST(ExitOf, TellsItBeforeTheChildIsReaped) {
  const std::vector<std::string> argv{"/bin/sleep", "1000"}, environment;
  auto child = spawn({argv, environment, {}});
  ASSERT_TRUE(child);
  EXPECT_FALSE(exit_of(*child).has_value());
  kill_child(*child);
  pollfd ended{child->pidfd.get(), POLLIN, 0};
  ASSERT_EQ(::poll(&ended, 1, 10'000), 1);
  for (int i = 0; i < 2; ++i) {
    const auto exit = exit_of(*child);
    ASSERT_TRUE(exit.has_value());
    EXPECT_EQ(exit->signal, SIGKILL);
  }
  EXPECT_EQ(reap(*child, "sleep", true)->signal, SIGKILL);
}

// Other code reaped it, or SIGCHLD is ignored: its exit code stays unknown.
TEST(ExitOf, AndReapTellThatAChildWhichIsGoneHasEnded) {
  const std::vector<std::string> argv{"/bin/true"}, environment;
  auto child = spawn({argv, environment, {}});
  ASSERT_TRUE(child);
  ASSERT_EQ(::waitpid(child->pid, nullptr, 0), child->pid);
  const auto exit = exit_of(*child);
  ASSERT_TRUE(exit.has_value());
  EXPECT_EQ(exit->code, -1);
  EXPECT_EQ(exit->signal, 0);
  const auto reaped = reap(*child, "true", true);
  ASSERT_TRUE(reaped) << reaped.error().message;
  EXPECT_EQ(reaped->code, -1);
}

}  // namespace
}  // namespace agentd
