// SPDX-License-Identifier: Apache-2.0
#pragma once
// claude.h - the parts of Claude Code's dialect: its objects, its answers, its settings.
//
// Threading: pure functions.

#include "core/dialects/dialect.h"
#include "core/dialects/translator.h"

namespace agentd {

Verdict interpret_claude(const HookDefinition& hook, JsonView payload, const RawAnswer& answer);
Result<DefinitionSet> read_claude_settings(std::string_view text, std::string_view path, std::string_view prefix);

}  // namespace agentd
