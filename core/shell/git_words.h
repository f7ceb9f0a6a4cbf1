// SPDX-License-Identifier: Apache-2.0
#pragma once
// git_words.h - what of a command line of Git names programs that Git runs: settings in front of the command, and the
// commands and options that take a program. By git(1) and the pages of its commands. Private to this room.
//
// Threading: pure functions.

#include <string>
#include <string_view>
#include <vector>

#include "core/shell/shell.h"

namespace agentd::shell {

// Why Git may run other programs than its own by these words, of which the first is `git`; empty = it does not. What
// settings and hooks on disk name is not asked.
std::string doubt_of_git(const std::vector<ShellWord>& words);

// The command of Git that a program is: "push" for git-push. Empty: it is none.
std::string_view git_command_of(std::string_view program);

}  // namespace agentd::shell
