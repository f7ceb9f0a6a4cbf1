// SPDX-License-Identifier: Apache-2.0
#pragma once
// known_names.h - names in a hook that nothing bears: keys of `when`, tools of a matcher, of `if`
// and of `when`.
//
// A hook that looks for a name that is never there is never asked, and nobody notices. So keys of
// the payload are checked where the hook is read, and tools and the keys of their input when the
// tools are there.
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

// The first path that the payload of none of the events has, with the nearest one that it has. What
// lies in a member that is any JSON (tool.input) is not looked at. REQUIRES: at least one event.
std::optional<ExpressionMistake> wrong_path(const ExprNode& expression, std::span<const std::uint32_t> events);

struct NameMistake {
  // The hook decides something and is agentd's own YAML of the user or the system: nothing may run
  // with it. Otherwise it is worth a warning.
  bool broken = false;
  bool slip = false;  // another name was meant
  std::string text;   // "FILE:LINE: hook careful: no tool is named 'bsah': did you mean 'bash'?"
};
// What no tool can match. `tools` are those that are offered; built-in tools that are not among
// them count as known, and so do the names of the dialect's own tool. An expression of a matcher is
// not looked at, nor a name that may be of an MCP server. Without a near name a tool may come
// later: that is a warning for agentd's own hooks, and nothing for those of other tools.
// Why what the hook runs cannot be had, as far as that is certain before it is asked: a host that it may not reach, a
// program or a folder by an absolute path that is not there. Empty = nothing speaks against it.
std::string unrunnable(const HookDefinition& hook, const std::vector<std::string>& allowed_hosts);
std::vector<NameMistake> unknown_names(const HookDefinition& hook, std::span<const Tool> tools);

// The same of a native hook's configuration: texts that its config_schema marks with "format":
// "tool-names", which are names of tools or globs with "|" between them, in letters of any case;
// and objects whose "propertyNames" it marks with "format": "tool-input-keys", whose keys are those
// of tools' inputs, or among the "examples" beside it. The text begins with the place:
// "rules[0].tool: no tool is named 'bsh': did you mean 'bash'?". `broken` = one is near.
std::vector<NameMistake> unknown_names_in_config(std::string_view config_schema, std::string_view config,
                                                 std::span<const Tool> tools);

}  // namespace agentd
