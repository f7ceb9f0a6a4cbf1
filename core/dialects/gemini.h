// SPDX-License-Identifier: Apache-2.0
#pragma once
// gemini.h - the parts of Gemini CLI's dialect: its objects, its answers, its settings.
//
// It follows Gemini's documentation, not its implementation: a signal does not allow, exit code 3 does not deny, exit
// code 2 always blocks.
//
// Threading: pure functions.

#include <string>
#include <vector>

#include "core/dialects/dialect.h"
#include "core/dialects/translator.h"

namespace agentd {

// The texts of one message of the request, without tool calls and results.
struct GeminiMessage {
  std::string role;  // "user", "model"
  std::string text;
};
// The messages of llm_request.messages, without the system prompt. Context from hooks is in the user message that it
// belongs to.
std::vector<GeminiMessage> gemini_messages(JsonView payload);

Verdict interpret_gemini(const HookDefinition& hook, JsonView payload, const RawAnswer& answer);
Result<DefinitionSet> read_gemini_settings(std::string_view text, std::string_view path, std::string_view prefix);

}  // namespace agentd
