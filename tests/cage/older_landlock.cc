// SPDX-License-Identifier: Apache-2.0
#include "tests/cage/older_landlock.h"

#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>

namespace agentd::testing {
namespace {

#if defined(__x86_64__)

constexpr std::uint64_t kAskVersion = 1;
constexpr int kStopEvent = 128;  // PTRACE_EVENT_STOP, which older headers lack

// A structure with three numbers in its newest form; an older kernel knows the first ones.
struct Ruleset {
  std::uint64_t files = 0, net = 0, scopes = 0;
};

std::size_t known_bytes(long version) { return version >= 6 ? 24 : version >= 4 ? 16 : 8; }

std::uint64_t known_files(long version) {
  const int count = version >= 5 ? 16 : version >= 3 ? 15 : version >= 2 ? 14 : 13;
  return (std::uint64_t{1} << count) - 1;
}

// 0, or the error with which that version refuses the ruleset.
int refusal(long version, pid_t pid, std::uint64_t address, std::uint64_t bytes) {
  Ruleset given;
  iovec here{&given, std::min<std::size_t>(bytes, sizeof given)};
  iovec there{reinterpret_cast<void*>(address), here.iov_len};  // an address of the other process
  if (::process_vm_readv(pid, &here, 1, &there, 1, 0) < 0) return EFAULT;
  if (bytes > known_bytes(version) && (given.scopes != 0 || (version < 4 && given.net != 0))) return E2BIG;
  if ((given.files & ~known_files(version)) != 0) return EINVAL;
  return 0;
}

void answer(long version, pid_t pid) {
  user_regs_struct registers{};
  if (::ptrace(PTRACE_GETREGS, pid, nullptr, &registers) != 0) return;
  std::int64_t result = 0;
  if (registers.rdx == kAskVersion && registers.rdi == 0 && registers.rsi == 0)
    result = version;
  else if (registers.rdx != 0)
    result = -EINVAL;
  else
    result = -refusal(version, pid, registers.rdi, registers.rsi);
  if (result == 0) return;  // the kernel makes it
  registers.orig_rax = ~0ull;
  registers.rax = static_cast<std::uint64_t>(result);
  ::ptrace(PTRACE_SETREGS, pid, nullptr, &registers);
}

void go_on(long version, pid_t pid, int status) {
  const int number = WSTOPSIG(status), event = status >> 16;
  auto request = PTRACE_CONT;
  long signal = 0;
  if (event == PTRACE_EVENT_SECCOMP)
    answer(version, pid);
  else if (event == kStopEvent && number != SIGTRAP)
    request = PTRACE_LISTEN;  // stopped by job control
  else if (event == 0)
    signal = number;
  ::ptrace(request, pid, nullptr, signal);
}

#endif

}  // namespace

#if defined(__x86_64__)

int run_with_older_landlock(long version, const std::function<void()>& become) {
  int gate[2];
  if (::pipe(gate) != 0) return -1;
  const pid_t child = ::fork();
  if (child < 0) return -1;
  if (child == 0) {
    char go = 0;
    ::close(gate[1]);
    const bool traced = ::read(gate[0], &go, 1) == 1;
    ::close(gate[0]);
    if (traced) become();
    ::_exit(127);
  }
  ::close(gate[0]);
  const long options =
      PTRACE_O_TRACESECCOMP | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL;
  const bool traced = ::ptrace(PTRACE_SEIZE, child, nullptr, options) == 0;
  const bool told = traced && ::write(gate[1], "g", 1) == 1;
  ::close(gate[1]);
  if (!told) {
    ::waitpid(child, nullptr, 0);
    return -1;
  }
  for (;;) {
    int status = 0;
    const pid_t pid = ::waitpid(-1, &status, __WALL);
    if (pid < 0 && errno != EINTR) return -1;
    if (pid < 0) continue;
    if (WIFSTOPPED(status)) {
      go_on(version, pid, status);
    } else if (pid == child) {
      return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
  }
}

#else

int run_with_older_landlock(long, const std::function<void()>&) { return -1; }

#endif

}  // namespace agentd::testing
