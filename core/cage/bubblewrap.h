// SPDX-License-Identifier: Apache-2.0
#pragma once
// bubblewrap.h - the words with which bubblewrap makes the view of a cage. Options of version 0.8.0 and older.
//
// It mounts only what exists, parents before what is in them, and never a placeholder: nothing is left behind in the
// directories that it shows.
//
// Threading: pure functions on the file system.

#include <string>
#include <vector>

namespace agentd::cage {

struct View {
  std::vector<std::string> readable, writable;
  std::vector<std::string> guarded;  // below a writable one: not writable
  std::vector<std::string> hidden;   // below a readable or writable one: empty
  std::string home;                  // an empty directory that ends with the command, but for what is shown in it
  std::string scratch;               // shown as /tmp
  bool shares_network = false;
};

// The words up to the command's own.
std::vector<std::string> bubblewrap_words(const std::string& program, const View& view, const std::string& cwd);
// A command that succeeds where bubblewrap works, with the options that a cage uses.
std::vector<std::string> bubblewrap_probe(const std::string& program);

}  // namespace agentd::cage
