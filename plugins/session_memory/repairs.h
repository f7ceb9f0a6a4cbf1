// SPDX-License-Identifier: Apache-2.0
#pragma once
// repairs.h - the commands of a session that failed and then passed.
//
// Threading: pure functions.

#include <string>
#include <vector>

#include "plugins/session_memory/session_log.h"

namespace session_memory {

struct Repair {
  const LoggedCall* failed = nullptr;  // the first failure of its kind
  const LoggedCall* passed = nullptr;  // null: it never did
  std::size_t failures = 0;
  std::vector<std::string> files;  // changed between the two, each once

  // The same command passed; otherwise another of the same program did.
  bool is_same_command() const;
};

// In order of their first failure. A command that failed because it was refused or cut off counts like any other.
std::vector<Repair> repairs_of(const SessionLog& log);

// The program that a command line runs: its first word that is no assignment, without folders; "git commit" for
// programs with subcommands.
std::string program_of(std::string_view command);

}  // namespace session_memory
