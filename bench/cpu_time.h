// SPDX-License-Identifier: Apache-2.0
#pragma once
// cpu_time.h - the processor time that this process has used.
//
// Threading: thread-safe.

#include <sys/resource.h>

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

}  // namespace agentd::bench
