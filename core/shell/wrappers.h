// SPDX-License-Identifier: Apache-2.0
#pragma once
// wrappers.h - where the command begins that a program runs with its own arguments: timeout 5 make. Private to this
// room.
//
// Threading: pure functions.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/shell/shell.h"

namespace agentd::shell {

struct Wrapper {
  std::string_view name;
  bool transparent;         // it adds nothing of its own
  std::string_view flags;   // letters of options without a value
  std::string_view valued;  // letters of options with one
  std::vector<std::string_view> long_flags, long_valued;
  std::size_t operands = 0;  // between the options and the command
  bool assigns = false;      // NAME=value may precede the command
};

// Null: it is none.
const Wrapper* find_wrapper(std::string_view program);
// Programs that run a command of their arguments in a way that is not read here: flock, strace, ssh-agent.
bool is_launcher(std::string_view program);

struct Unwrapped {
  struct Variable {
    std::string name;
    ShellWord value{};  // unknown when it is removed
    bool stays = true;  // false: it is removed
  };
  std::size_t begin = 0;        // of the command in the words; their number = there is none
  std::string doubt;            // why it may be elsewhere; empty = it is there
  std::string replaced;         // the value of xargs -I
  bool looks_up = false;        // command -v
  bool directly = false;        // watch -x
  std::vector<Variable> set{};  // for the command: env NAME=value
};
Unwrapped unwrap(const Wrapper& wrapper, const std::vector<ShellWord>& words);

}  // namespace agentd::shell
