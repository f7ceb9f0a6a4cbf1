// SPDX-License-Identifier: Apache-2.0
#pragma once
// apart.h - a part of a benchmark in a process of its own, so that no part begins with the memory of the one before.
//
// Threading: REQUIRES: the calling thread is the only one.

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <type_traits>

#include "bench/place.h"

namespace agentd::bench {

// What `part` returns. The benchmark ends with 1 where the part does not come to its end; it has said why.
template <typename Part>
auto apart(const Part& part) {
  using Figures = decltype(part());
  static_assert(std::is_trivially_copyable_v<Figures>);
  int ends[2];
  if (::pipe(ends) != 0) stop("no pipe can be made");
  std::fflush(stdout);
  const pid_t pid = ::fork();
  if (pid < 0) stop("no process can be made");
  if (pid == 0) {
    const Figures out = part();
    const bool wrote = ::write(ends[1], &out, sizeof out) == static_cast<ssize_t>(sizeof out);
    std::fflush(stdout);
    ::_exit(wrote ? 0 : 1);
  }
  ::close(ends[1]);
  Figures out;
  const bool got = ::read(ends[0], &out, sizeof out) == static_cast<ssize_t>(sizeof out);
  ::close(ends[0]);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (!got || status != 0) std::exit(1);
  return out;
}

}  // namespace agentd::bench
