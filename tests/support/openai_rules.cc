// SPDX-License-Identifier: Apache-2.0
#include "tests/support/openai_rules.h"

#include "core/codec/json.h"
#include "providers/openai/rules.h"

namespace agentd::testing {
namespace {

std::string first_of(const Breaches& broken) { return broken.empty() ? std::string() : broken.front().says; }

}  // namespace

std::string chat_refusal(std::string_view body, const OpenAiRules& rules) {
  return first_of(
      kChatWire.breaches(body, {.call_id_bytes = rules.call_id_bytes, .thinking_back = rules.thinking_back}));
}

std::string responses_refusal(std::string_view body, const OpenAiRules& rules) {
  WireFacts facts;
  if (const auto document = JsonDocument::parse(body); document && rules.own_seals_alone)
    facts.foreign = [own = std::string(document->root()["model"].string_or("")) + "/"](std::string_view seal) {
      return !seal.starts_with(own);
    };
  return first_of(kResponsesWire.breaches(body, facts));
}

std::string thinking_in(std::string_view body) {
  const auto document = JsonDocument::parse(body);
  if (!document) return "no JSON";
  std::string out;
  const JsonView messages = document->root()["messages"];
  for (std::size_t i = 0; i < messages.size(); ++i)
    if (messages.at(i)["role"].string_or("") == "assistant")
      out += std::string(messages.at(i)["reasoning_content"].string_or("-")) + "\n";
  return out;
}

}  // namespace agentd::testing
