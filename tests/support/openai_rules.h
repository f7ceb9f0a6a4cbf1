// SPDX-License-Identifier: Apache-2.0
#pragma once
// openai_rules.h - how a strict server of OpenAI's two APIs refuses a request: by the rules of the wires
// (providers/openai/rules.h).
//
// Threading: pure functions.

#include <string>
#include <string_view>

namespace agentd::testing {

struct OpenAiRules {
  // Sealed reasoning is read only by the model whose name it begins with: "gpt-6-sol/1".
  bool own_seals_alone = false;
  // The server takes no other ids of calls than these many letters and digits; 0 = any.
  std::size_t call_id_bytes = 0;
  // Each answer needs its thinking, which may be empty.
  bool thinking_back = false;
};

// The message of the 400 that the request is answered with; empty = it is accepted.
std::string chat_refusal(std::string_view body, const OpenAiRules& rules = {});
std::string responses_refusal(std::string_view body, const OpenAiRules& rules = {});

// The thinking beside each answer of a chat request, a line each; "-" where there is none.
std::string thinking_in(std::string_view body);

}  // namespace agentd::testing
