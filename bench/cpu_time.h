// SPDX-License-Identifier: Apache-2.0
#pragma once
// cpu_time.h - the processor time that this process, or the calling thread, has used.
//
// Threading: thread-safe.

#include <sys/resource.h>
#include <time.h>

#include <cstdint>

namespace agentd::bench {

// In user and system mode, of all threads, in milliseconds.
inline double cpu_ms() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto ms = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_usec) / 1e3;
  };
  return ms(used.ru_utime) + ms(used.ru_stime);
}

// Of the calling thread alone, in nanoseconds.
inline std::uint64_t thread_cpu_ns() {
  timespec used{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return static_cast<std::uint64_t>(used.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(used.tv_nsec);
}

}  // namespace agentd::bench
