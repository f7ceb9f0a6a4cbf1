// SPDX-License-Identifier: Apache-2.0
#pragma once
// sandbox.h - locks this process into a sandbox for good.
//
// Landlock guards files and seccomp guards system calls; neither needs a privilege, and processes started later inherit
// both. sandbox_calls.h lists the allowed system calls by capability; every other one fails with EPERM. So a sandboxed
// process cannot inspect or end another one, mount, load kernel code, raise its own limits, or use memory that no
// process limit counts (memory files, System V and POSIX queues and segments, larger pipes). Root's privileges are
// dropped: the bounding, permitted, effective, inheritable and ambient sets are empty.
//
// Limits: names, sizes and times of files are visible everywhere. A process that may write files can change modes and
// owners of all that it can open, and fill the file system.
//
// Threading: enter_sandbox() once, before the process has threads: Landlock binds the calling thread and those that it
// starts.

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/file.h"
#include "core/base/result.h"

namespace agentd {

struct SandboxRules {
  bool off = false;      // nothing is guarded
  bool network = false;  // sockets of any kind
  // Starting programs and processes. They can be signalled where the kernel keeps signals inside the sandbox (Linux
  // 6.12).
  bool processes = false;
  bool files_read = false, files_write = false;
  // Directories or files, absolute; opened by files_read and files_write. Missing ones are skipped.
  std::vector<std::string> readable, writable;
  // Descriptors whose files may be reopened for reading, through /proc/self/fd.
  std::vector<int> reopened;
  // Allows changing its own limits, for a process that checks whether a plugin does.
  bool own_limits = false;
  // For tests: treats a newer Landlock as this version; 0 = the kernel's own.
  long landlock_version_max = 0;
};

// The shared and most expensive part of a sandbox, equal for all rules that differ only in paths: entered once,
// inherited by all forks, and completed by each of them. Until then a process can still prepare itself: fork, lead a
// session, set its limits and restrict itself further.
class SandboxGround {
 public:
  // Enters it. kInternal: no memory. REQUIRES: the process has one thread.
  static Result<SandboxGround> enter(const SandboxRules& rules);
  // Completes the sandbox in this process or in a fork of it. Returns as enter_sandbox(). kInternal: no memory, or
  // rules with other capabilities than those of enter().
  Result<std::string> finish(const SandboxRules& rules);
  // Until then the sandbox holds descriptors from this number up; a fork keeps them.
  static constexpr int kFirstHeldFd = 64;
  // True if a process cannot start another one once its sandbox is complete.
  bool forbids_processes() const { return filtered_ && !rules_.processes; }

 private:
  // Guarded in the same way for all of them.
  struct HeldPath {
    const char* path = nullptr;
    std::uint64_t rights = 0;
    UniqueFd fd{};  // not valid = opened when needed
  };
  void hold(const char* path, std::uint64_t rights);
  bool guard_files(const SandboxRules& rules);

  SandboxRules rules_;
  std::vector<HeldPath> held_;
  std::string missing_;    // what is not guarded so far
  long landlock_ = 0;      // this machine's version, 0 = none
  bool filtered_ = false;  // the first system call filter is entered
};

// Enters the complete sandbox. Returns what this machine does not guard as one sentence without a full stop; empty =
// everything is guarded. kInternal: no memory.
Result<std::string> enter_sandbox(const SandboxRules& rules);

// The number of system call filters of a complete sandbox, where the kernel supports them.
constexpr int kSandboxFilters = 2;

}  // namespace agentd
