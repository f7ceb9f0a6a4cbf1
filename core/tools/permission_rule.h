// SPDX-License-Identifier: Apache-2.0
#pragma once
// permission_rule.h - one rule about tool calls: TOOL or TOOL(ARGUMENT).
//
// The argument is a command for bash (command_pattern.h), "domain:HOST" for a tool with a URL, otherwise a path of a
// tool that names files (path_pattern.h).
//
// Threading: values.

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "core/base/result.h"
#include "core/tools/command_pattern.h"
#include "core/tools/path_pattern.h"

namespace agentd {

inline constexpr std::string_view kCommandTool = "bash";
// The tools that change files. Rules that forbid one of them, or ask, bind redirections of commands, too.
inline constexpr std::string_view kWriteTool = "write_file", kEditTool = "edit_file";

struct RuleParts {
  std::string tool;
  std::optional<std::string> argument;
};
// kInvalid: a parenthesis is missing or follows nothing.
Result<RuleParts> rule_parts(std::string_view text);

struct DomainPattern {
  std::string host;  // lower case; "*." in front = and all below it
  bool matches(std::string_view other) const;
};

struct PermissionRule {
  std::string text;   // as it was written
  std::string place;  // "/home/ann/.agent/config.yaml:7", "--allow"; empty = not known
  std::string tool;   // a name or glob in any case
  std::variant<std::monostate, CommandPattern, PathPattern, DomainPattern> argument{};
  bool kept = false;        // a person's answer
  std::string directory{};  // in which it was given: a kept rule about commands holds for calls that start there

  bool is_whole() const { return std::holds_alternative<std::monostate>(argument); }
  bool names(const std::string& tool_name) const;
};
// kInvalid: it can match nothing.
Result<PermissionRule> make_rule(const RuleParts& parts, std::string text, std::string place);

}  // namespace agentd
