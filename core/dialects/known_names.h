// SPDX-License-Identifier: Apache-2.0
#pragma once
// known_names.h - finds names in a hook that do not exist: keys in `when`, tools in a matcher, in `if` and in `when`.
//
// A hook that looks for a name that never occurs is never called, which goes unnoticed. Keys of the payload are checked
// when the hook is read, tools and their input keys once the tools are known.
//
// Threading: pure functions.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/dialects/definition.h"
#include "core/dialects/expression_parser.h"
#include "core/tools/tool.h"

namespace agentd {

// The first path that none of the events' payloads has, with the nearest existing one. Members of free-form JSON
// (tool.input) are not checked. REQUIRES: at least one event.
std::optional<ExpressionMistake> wrong_path(const ExprNode& expression, std::span<const std::uint32_t> events);

struct NameMistake {
  // True if the hook decides something and is agentd's own YAML hook of the user or the system: no run may begin with
  // it. Otherwise it is a warning.
  bool broken = false;
  bool slip = false;  // another name was probably meant
  std::string text;   // "FILE:LINE: hook careful: no tool is named 'bsah': did you mean 'bash'?"
};
// Why the hook's action cannot run, as far as that is certain beforehand: a host that it may not reach, or a program or
// folder at an absolute path that does not exist. Empty = no objection.
std::string unrunnable(const HookDefinition& hook, const std::vector<std::string>& allowed_hosts);
// Names that no tool can match. `tools` are the offered ones; built-in tools that are not among them and the names of
// the dialect's own tool count as known. Expressions in a matcher are not checked, nor names that may belong to an MCP
// server. Without a similar name the tool may come later: a warning for agentd's own hooks, nothing for other dialects.
std::vector<NameMistake> unknown_names(const HookDefinition& hook, std::span<const Tool> tools);

// Checks a native hook's configuration in the same way: texts that its config_schema marks with "format": "tool-names"
// (tool names or globs separated by "|", in any case), and objects whose "propertyNames" it marks with "format":
// "tool-input-keys" (keys of tool inputs, or one of the "examples" next to it). The text begins with the place:
// "rules[0].tool: no tool is named 'bsh': did you mean 'bash'?". `broken` = a similar name exists.
std::vector<NameMistake> unknown_names_in_config(std::string_view config_schema, std::string_view config,
                                                 std::span<const Tool> tools);

}  // namespace agentd
