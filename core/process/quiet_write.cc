// SPDX-License-Identifier: Apache-2.0
#include "core/process/quiet_write.h"

#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>

namespace agentd {
namespace {

bool is_pending(int number) {
  sigset_t pending;
  ::sigpending(&pending);
  return ::sigismember(&pending, number) == 1;
}

}  // namespace

ssize_t write_quietly(int fd, std::string_view bytes) {
  sigset_t broken_pipe;
  sigset_t before;
  ::sigemptyset(&broken_pipe);
  ::sigaddset(&broken_pipe, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &broken_pipe, &before);
  const bool was_pending = is_pending(SIGPIPE);
  const ssize_t wrote = ::write(fd, bytes.data(), bytes.size());
  const int why = errno;
  const timespec at_once{};
  if (wrote < 0 && why == EPIPE && !was_pending) ::sigtimedwait(&broken_pipe, nullptr, &at_once);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = why;
  return wrote;
}

}  // namespace agentd
