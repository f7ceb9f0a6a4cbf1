// SPDX-License-Identifier: Apache-2.0
#pragma once
// declarative.h - our own YAML form of hooks: on, matcher, when, and what to do.
//
//   on: agent_stop                     # an event, or a list of them
//   when: context.percent > 70
//   do: compact                        # or a mapping: the canonical answer
//
// One hook as the document itself, or several below `hooks:`. Instead of `do`: `command:` (a text for
// /bin/sh, or a list without a shell), `url:` (with headers, allowed_environment), `extension:` (a list: a
// long-lived process that speaks Kodelet's JSON-RPC). Beside them: name, matcher, if, dialect, event
// names of that dialect below `on`, timeout (seconds, or "500ms", "5s", "2m"), on_failure open|closed,
// guard, priority, once (true|run|conversation), async, observe, shadow, strict_output, environment,
// working_directory, enabled.
//
// Threading: pure functions.

#include <string_view>

#include "core/dialects/definition.h"

namespace agentd {

// `name` is the file's stem, qualified; hooks of a list are "name.1", "name.2" or
// "name.their-name". Every mistake (unknown key with the nearest known one, wrong type, unknown
// event, a path of `when` that no payload has, two of do/command/url, an action that the event does
// not take, a guard of events that cannot be guarded) is kInvalid with "FILE:LINE:COLUMN: what";
// nothing of a file with a mistake is used.
Result<std::vector<HookDefinition>> read_declarative(std::string_view text, std::string_view path,
                                                     std::string_view name, Precedence precedence);

// The definitions as our own YAML file (`hooks:` list), readable by read_declarative() with the same
// meaning; what could not be carried over stands as comments at the top.
std::string write_declarative(const DefinitionSet& set, std::string_view origin);

}  // namespace agentd
