// SPDX-License-Identifier: Apache-2.0
// degraded_test.cc - a sandbox on a kernel that has less: what is missing is named, the rest holds.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/openat2.h>
#include <seccomp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <initializer_list>
#include <string>

#include "core/base/file.h"
#include "core/process/sandbox.h"
#include "tests/support/required.h"
#include "tests/support/temp_dir.h"

namespace agentd::testing {
namespace {

constexpr int kLandlockCreate = 444;

// Makes the calls look as if the kernel had none of them.
bool take_away(std::initializer_list<int> calls, bool seccomp_too) {
  scmp_filter_ctx filter = ::seccomp_init(SCMP_ACT_ALLOW);
  bool good = filter != nullptr;
  for (const int call : calls) good = good && ::seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), call, 0) == 0;
  const scmp_arg_cmp sets_seccomp{0, SCMP_CMP_EQ, PR_SET_SECCOMP, 0};
  if (seccomp_too)
    good = good && ::seccomp_rule_add_array(filter, SCMP_ACT_ERRNO(EINVAL), SCMP_SYS(prctl), 1, &sets_seccomp) == 0;
  return good && ::seccomp_load(filter) == 0;
}

struct Seen {
  std::string missing;                // what enter_sandbox() says
  bool file = false, socket = false;  // open in spite of it
};

// In a child: there is no way back.
Seen enter_without(std::initializer_list<int> calls, bool seccomp_too = false) {
  int ends[2] = {-1, -1};
  EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    std::string text = "no filter";
    if (take_away(calls, seccomp_too)) {
      auto missing = enter_sandbox({});
      text = missing ? *missing : missing.error().message;
    }
    text += ::open("/etc/passwd", O_RDONLY) >= 0 ? "|file" : "|";
    text += ::socket(AF_UNIX, SOCK_STREAM, 0) >= 0 ? "|socket" : "|";
    ::_exit(write_all(ends[1], text) ? 0 : 1);
  }
  ::close(ends[1]);
  std::string text;
  char buffer[512];
  for (ssize_t got = 1; got > 0;) {
    got = ::read(ends[0], buffer, sizeof buffer);
    if (got > 0) text.append(buffer, static_cast<std::size_t>(got));
  }
  ::close(ends[0]);
  ::waitpid(child, nullptr, 0);
  Seen out;
  out.missing = text.substr(0, text.find('|'));
  out.file = text.find("|file") != std::string::npos;
  out.socket = text.find("|socket") != std::string::npos;
  return out;
}

// What a process may do to a file of a directory that it may read, in that order: read it, and
// empty it by open(), openat(), openat2() and creat(); in a child.
std::string tries_under(const SandboxRules& rules, const std::string& path) {
  int ends[2] = {-1, -1};
  EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto entered = enter_sandbox(rules);
    open_how how{};
    how.flags = O_RDONLY | O_TRUNC;
    std::string text = entered ? "" : entered.error().message;
    const auto say = [&](long got) {
      text += (text.empty() ? "" : " ") + std::string(got >= 0 ? "ok" : ::strerrorname_np(errno));
    };
    say(::open(path.c_str(), O_RDONLY));
    say(::syscall(SYS_open, path.c_str(), O_RDONLY | O_TRUNC, 0));
    say(::openat(AT_FDCWD, path.c_str(), O_RDONLY | O_TRUNC));
    say(::syscall(SYS_openat2, AT_FDCWD, path.c_str(), &how, sizeof how));
    say(::creat(path.c_str(), 0600));
    ::_exit(write_all(ends[1], text) ? 0 : 1);
  }
  ::close(ends[1]);
  char buffer[512];
  const ssize_t got = ::read(ends[0], buffer, sizeof buffer);
  ::close(ends[0]);
  ::waitpid(child, nullptr, 0);
  return {buffer, static_cast<std::size_t>(std::max<ssize_t>(got, 0))};
}

SandboxRules reader_of(const std::string& directory, long landlock) {
  SandboxRules rules;
  rules.files_read = true;
  rules.readable = {directory};
  rules.landlock_version_max = landlock;
  return rules;
}

TEST(DegradedSandbox, KeepsFilesFromBeingEmptiedWhereLandlockDoesNot) {
  TempDir folder;
  const std::string path = folder.write("file", "text");
  EXPECT_EQ(tries_under(reader_of(folder.path(), 2), path), "ok EPERM EPERM ENOSYS EPERM");
  EXPECT_EQ(folder.read("file"), "text");
}

TEST(DegradedSandbox, LeavesThatToLandlockWhereItDoes) {
  TempDir folder;
  const std::string path = folder.write("file", "text");
  if (::syscall(kLandlockCreate, nullptr, 0, 1) < 3) AGENTD_TEST_NEEDS_MORE("the Landlock of this kernel is too old");
  EXPECT_EQ(tries_under(reader_of(folder.path(), 0), path), "ok EACCES EACCES EACCES EACCES");
  EXPECT_EQ(folder.read("file"), "text");
}

TEST(DegradedSandbox, WhenItIsOffFilesCanBeEmptied) {
  TempDir folder;
  const std::string path = folder.write("file", "text");
  SandboxRules off;
  off.off = true;
  EXPECT_EQ(tries_under(off, path), "ok ok ok ok ok");
  EXPECT_EQ(folder.read("file"), "");
}

TEST(DegradedSandbox, NamesLandlockAndStillClosesSockets) {
  const Seen seen = enter_without({kLandlockCreate});
  EXPECT_EQ(seen.missing, "Landlock is not available: files are not guarded");
  EXPECT_TRUE(seen.file);
  EXPECT_FALSE(seen.socket);
}

TEST(DegradedSandbox, NamesSeccompAndStillClosesFiles) {
  const Seen seen = enter_without({SCMP_SYS(seccomp)}, true);
  EXPECT_EQ(seen.missing.substr(seen.missing.rfind("seccomp")),
            "seccomp is not available: network, processes and signals are not guarded");
  EXPECT_TRUE(seen.socket);
  const bool landlock = seen.missing.starts_with("seccomp");
  EXPECT_EQ(seen.file, !landlock);
}

TEST(DegradedSandbox, NamesEverythingInOneSentence) {
  const Seen seen = enter_without({kLandlockCreate, SCMP_SYS(seccomp)}, true);
  EXPECT_EQ(seen.missing,
            "Landlock is not available: files are not guarded; seccomp is not available: network, "
            "processes and signals are not guarded");
  EXPECT_TRUE(seen.file);
  EXPECT_TRUE(seen.socket);
}

}  // namespace
}  // namespace agentd::testing
