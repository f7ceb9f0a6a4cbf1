// SPDX-License-Identifier: Apache-2.0
#pragma once
// tracer.h - runs a shell command and says which programs it started, by ptrace's events of execve.
//
// Threading: one thread at a time in a process.

#include <string>
#include <vector>

struct Traced {
  bool worked = false;                // false: the system does not let a process trace its child
  std::vector<std::string> programs;  // names of the executed files, at most 15 bytes each, without the shell itself
};

// Runs `SHELL -c COMMAND` in a directory, with that PATH and no other environment than V, W and E.
Traced run_traced(const std::string& shell, const std::string& command, const std::string& directory,
                  const std::string& path);
