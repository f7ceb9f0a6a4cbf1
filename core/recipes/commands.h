// SPDX-License-Identifier: Apache-2.0
#pragma once
// commands.h - a recipe's `allowed_commands`: the commands of the shell tool that it may run.
//
// A pattern matches one simple command. A command with anything that could run another one (a list, a pipe, a
// redirection, a substitution) matches no pattern, since "git *" would match "git status; rm -rf /" as well. Quoted
// text is text: git commit -m "fix: a; b" is one command.
//
// Threading: pure functions.

#include <string>
#include <string_view>
#include <vector>

namespace agentd {

// The tool that runs the commands.
inline constexpr std::string_view kShellTool = "bash";

// Why the command is more than one simple command; empty when it is one. Parses as bash does; when in doubt it is more
// than one.
std::string why_not_simple(std::string_view command);

// Why no pattern covers the tool's input, {"command": TEXT}; empty when one does.
std::string why_command_refused(const std::vector<std::string>& patterns, std::string_view input_json);

}  // namespace agentd
