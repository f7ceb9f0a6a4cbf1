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

#include <string>
#include <vector>

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

// Returns what does not hold on this machine, one sentence without a full stop; empty = everything
// holds. kInternal: no memory.
Result<std::string> enter_sandbox(const SandboxRules& rules);

}  // namespace agentd
