// SPDX-License-Identifier: Apache-2.0
#pragma once
// child.h - a program started and timed from outside, and what memory its processes use; for `macro/` and `sessions/`.
//
// Threading: a Child is thread-compatible; the functions are thread-safe.

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace agentd::bench {

struct Program {
  std::vector<std::string> argv;         // argv[0] an absolute path
  std::vector<std::string> environment;  // NAME=value, nothing else is passed on
  std::string directory{};               // in which it starts; empty = this process's own
};

// Started with standard input and output at /dev/null and standard error kept in `errors`.
class Child {
 public:
  static Result<Child> start(const Program& program, const std::string& errors);
  Child(Child&& other) noexcept : pid_(other.pid_), errors_(std::move(other.errors_)) { other.pid_ = -1; }
  Child& operator=(Child&&) = delete;
  ~Child();  // kills what still runs

  // Waits and tells the processors' time of it and of all that it waited for, in ms; an exit other than 0
  // is an error that holds what the program said.
  Result<double> wait();
  pid_t pid() const { return pid_; }

 private:
  Child(pid_t pid, std::string errors) : pid_(pid), errors_(std::move(errors)) {}
  pid_t pid_;
  std::string errors_;
};

struct Times {
  double wall_ms = 0;  // from before the start until it has ended
  double cpu_ms = 0;   // of it and of all that it waited for, in user and in system mode
};
Result<Times> time_program(const Program& program, const std::string& errors);

struct Memory {
  int processes = 0;
  double private_dirty_kb = 0, pss_kb = 0, rss_kb = 0;
};
// Of a process and all that descend from it, from /proc/PID/smaps_rollup.
Result<Memory> memory_of(pid_t root);

}  // namespace agentd::bench
