// SPDX-License-Identifier: Apache-2.0
#include "tests/support/openai_rules.h"

#include "core/codec/json.h"
#include "providers/openai/rules.h"

namespace agentd::testing {
namespace {

std::string first_of(const Breaches& broken) { return broken.empty() ? std::string() : broken.front().says; }

}  // namespace

std::string chat_refusal(std::string_view body, const OpenAiRules& rules) {
  return first_of(kChatWire.breaches(body, {.call_id_bytes = rules.call_id_bytes}));
}

std::string responses_refusal(std::string_view body, const OpenAiRules& rules) {
  WireFacts facts;
  if (const auto document = JsonDocument::parse(body); document && rules.own_seals_alone)
    facts.foreign = [own = std::string(document->root()["model"].string_or("")) + "/"](std::string_view seal) {
      return !seal.starts_with(own);
    };
  return first_of(kResponsesWire.breaches(body, facts));
}

}  // namespace agentd::testing
