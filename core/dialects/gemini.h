// SPDX-License-Identifier: Apache-2.0
#pragma once
// gemini.h - the parts of Gemini CLI's dialect: its objects, its answers, its settings.
//
// As documented, not as built: a signal allows nothing, exit 3 denies nothing, exit 2 always
// blocks.
//
// Threading: pure functions.

#include <string>
#include <vector>

#include "core/dialects/translator.h"

namespace agentd {

// A message of the request: its texts. What was called and what came back are not among them.
struct GeminiMessage {
  std::string role;  // "user", "model"
  std::string text;
};
// What llm_request.messages holds beside the system prompt. Context that a hook gave stands in the
// message of the user that it goes with.
std::vector<GeminiMessage> gemini_messages(JsonView payload);

Verdict interpret_gemini(const HookDefinition& hook, JsonView payload, const RawAnswer& answer);
Result<DefinitionSet> read_gemini_settings(std::string_view text, std::string_view path, std::string_view prefix);

}  // namespace agentd
