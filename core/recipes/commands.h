// SPDX-License-Identifier: Apache-2.0
#pragma once
// commands.h - `allowed_commands` of a recipe: which commands of the shell tool it may run.
//
// A pattern speaks of one simple command. What could carry another one along - a list, a pipe, a
// redirection, a substitution - is not covered by any pattern, since "git *" would match
// "git status; rm -rf /" as well. Quoted text is text: git commit -m "fix: a; b" is one command.
//
// Threading: pure functions.

#include <string>
#include <string_view>
#include <vector>

namespace agentd {

// The tool whose commands they are.
inline constexpr std::string_view kShellTool = "bash";

// Why the command is more than one simple command; empty when it is one. As bash reads it; on doubt
// it is more than one.
std::string why_not_simple(std::string_view command);

// Why the tool's input, {"command": TEXT}, is not covered by one of the patterns; empty when it is.
std::string why_command_refused(const std::vector<std::string>& patterns, std::string_view input_json);

}  // namespace agentd
