// SPDX-License-Identifier: Apache-2.0
#include "core/process/guard.h"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <set>

#include "core/base/file.h"
#include "core/base/scheduler.h"
#include "core/process/births.h"
#include "core/process/family.h"

namespace agentd {
namespace {

// Ending agentd by name, as pkill does, must not end the guard.
constexpr const char* kName = "process-guard";
constexpr Milliseconds kRound{10};
constexpr int kRoundsOfGrace = 100;
constexpr int kRoundsMax = 1'000;

void take_name(int argc, char** argv) {
  ::prctl(PR_SET_NAME, kName);
  if (argc < 1) return;
  const auto bytes = static_cast<std::size_t>(argv[argc - 1] - argv[0]) + std::strlen(argv[argc - 1]) + 1;
  std::memset(argv[0], 0, bytes);
  if (bytes > std::strlen(kName)) std::strcpy(argv[0], kName);
}

// Keeps nothing of the parent open or busy.
void leave_everything() {
  ::setsid();
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE}) ::signal(signal, SIG_IGN);
  ::close_range(0, ~0u, 0);
  (void)!::chdir("/");
}

// Repeats until no process is found.
void end_all_branded() {
  std::set<pid_t> told;
  for (int round = 0; round < kRoundsMax; ++round) {
    const bool now = round >= kRoundsOfGrace;
    bool any = false;
    for (const pid_t pid : all_processes()) {
      if (pid == ::getpid()) continue;
      const UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
      if (!pidfd.valid() || !carries_own_brand(pid)) continue;
      if (is_ready(pidfd.get(), POLLIN)) continue;  // it has ended and is not reaped yet
      any = true;
      if (!now && !told.insert(pid).second) continue;
      ::syscall(SYS_pidfd_send_signal, pidfd.get(), now ? SIGKILL : SIGTERM, nullptr, 0);
      ::syscall(SYS_pidfd_send_signal, pidfd.get(), SIGCONT, nullptr, 0);
    }
    if (!any) return;
    SystemClock().pause(kRound);
  }
}

[[noreturn]] void stand_guard(pid_t owner, int argc, char** argv) {
  leave_everything();
  take_name(argc, argv);
  const int end = static_cast<int>(::syscall(SYS_pidfd_open, owner, 0));
  if (::getppid() == owner) {  // otherwise the owner has ended already
    if (end < 0) ::_exit(0);
    pollfd wait{end, POLLIN, 0};
    while (SystemClock().poll({&wait, 1}, Deadline{}) < 0 && errno == EINTR) continue;
  }
  end_all_branded();
  ::_exit(0);
}

}  // namespace

Guard::Guard(int argc, char** argv) : owner_(::getpid()) {
  choose_brands();
  before_first_birth([this, argc, argv] { start(argc, argv); });
}

// Ctrl-C goes to the process group; signals stay blocked until the guard has left it.
void Guard::start(int argc, char** argv) {
  sigset_t all, before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  pid_ = fork_before_first_birth();
  if (pid_ == 0) stand_guard(owner_, argc, argv);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Guard::~Guard() {
  before_first_birth(nullptr);
  if (pid_ <= 0 || ::getpid() != owner_) return;
  ::kill(pid_, SIGKILL);
  // Where this process's own parent has ended, there may be no process that reaps orphans.
  ::waitpid(pid_, nullptr, 0);
  forget_child(pid_);
}

}  // namespace agentd
