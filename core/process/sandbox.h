// SPDX-License-Identifier: Apache-2.0
#pragma once
// sandbox.h - what a process may still do after it has locked itself up, for good.
//
// Files are guarded by Landlock, system calls by seccomp; neither needs a privilege, and what the
// process starts later inherits both. Of the system calls those are open that sandbox_calls.h
// lists, by capability; every other one is refused, by EPERM. So no sandboxed process may look into
// another one, end one, mount, load kernel code, raise a limit of its own, or have memory that no
// limit of a process counts (memory files, System V and POSIX queues and segments, larger pipes).
// Of root's privileges none is left: the bounding, permitted, effective, inheritable and ambient
// sets are empty.
//
// Limits: names, sizes and times of files can be looked at everywhere; a process that may write
// files can change modes and owners of all that it can open, and fill the file system.
//
// Threading: enter_sandbox() once, before the process has threads: Landlock binds the calling one
// and those that it starts.

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/file.h"
#include "core/base/result.h"

namespace agentd {

struct SandboxRules {
  bool off = false;      // nothing is guarded
  bool network = false;  // sockets of any kind
  // Starting programs and processes. They can be signalled where the kernel keeps signals inside of
  // the sandbox (Linux 6.12).
  bool processes = false;
  bool files_read = false, files_write = false;
  // Directories or files, absolute; opened by files_read and files_write. What does not exist is
  // skipped.
  std::vector<std::string> readable, writable;
  // Descriptors whose files may be opened again for reading, through /proc/self/fd.
  std::vector<int> reopened;
  // Its own limits may be changed: for a process that is there to see whether somebody does.
  bool own_limits = false;
  // As if the kernel's Landlock were of that version and no newer; 0 = as it is.
  long landlock_version_max = 0;
};

// What is the same for all processes with the same rules but for paths, and costs most: made and entered
// once, inherited by all that the process forks, and made whole by each of them. Until then a process may
// still make itself ready: it can fork, lead a session, set its limits and lock itself up further.
class SandboxGround {
 public:
  // Enters it. kInternal: no memory. REQUIRES: the process has one thread.
  static Result<SandboxGround> enter(const SandboxRules& rules);
  // Enters the rest, in this process or in one that it forked; from then on the sandbox is whole. Returns as
  // enter_sandbox(). kInternal: no memory, or rules with other capabilities than those of enter().
  Result<std::string> finish(const SandboxRules& rules);
  // The descriptors that the process has for it until then are that one and those above; a fork of it keeps them.
  static constexpr int kFirstHeldFd = 64;
  // True when a process starts no other one once it is whole.
  bool forbids_processes() const { return filtered_ && !rules_.processes; }

 private:
  // Guarded alike for all of them.
  struct HeldPath {
    const char* path = nullptr;
    std::uint64_t rights = 0;
    UniqueFd fd{};  // not valid = it is opened when it is needed
  };
  void hold(const char* path, std::uint64_t rights);
  bool guard_files(const SandboxRules& rules);

  SandboxRules rules_;
  std::vector<HeldPath> held_;
  std::string missing_;    // what does not hold so far
  long landlock_ = 0;      // the version of this machine, 0 = none
  bool filtered_ = false;  // the first filter of system calls is entered
};

// All of it. Returns what does not hold on this machine, one sentence without a full stop; empty =
// everything holds. kInternal: no memory.
Result<std::string> enter_sandbox(const SandboxRules& rules);

// How many filters of system calls a whole sandbox has, where the kernel has them.
constexpr int kSandboxFilters = 2;

}  // namespace agentd
