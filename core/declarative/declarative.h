// SPDX-License-Identifier: Apache-2.0
#pragma once
// declarative.h - agentd's YAML form of hooks: on, matcher, when and an action.
//
//   on: agent_stop                     # an event, or a list of them
//   when: context.percent > 70
//   do: compact                        # or a mapping: the canonical answer
//
// The document is one hook, or has several below `hooks:`. Instead of `do` a hook may have `command:` (a text for
// /bin/sh, or a list without a shell), `url:` (with headers, allowed_environment) or `extension:` (a list: a long-lived
// process that speaks Kodelet's JSON-RPC). Further keys: name, matcher, if, dialect (whose event names `on` then
// takes), timeout (seconds, or "500ms", "5s", "2m"), on_failure open|closed, guard, priority, once
// (true|run|conversation), async, observe, shadow, strict_output, environment, working_directory, enabled.
//
// Threading: pure functions.

#include <string_view>

#include "core/dialects/definition.h"

namespace agentd {

// Reads a file. `name` is its qualified stem; the hooks of a list are "name.1", "name.2" or "name.their-name". Every
// mistake (an unknown key, with the nearest known one; a wrong type; an unknown event; a path of `when` that no payload
// has; two of do, command and url; an action that the event does not allow; a guard of events that cannot be guarded)
// is kInvalid with "FILE:LINE:COLUMN: what", and no hook of the file is used.
Result<std::vector<HookDefinition>> read_declarative(std::string_view text, std::string_view path,
                                                     std::string_view name, Precedence precedence);

// Writes the definitions as a YAML file (`hooks:` list) that read_declarative() reads with the same meaning;
// unsupported parts become comments at the top.
std::string write_declarative(const DefinitionSet& set, std::string_view origin);

}  // namespace agentd
