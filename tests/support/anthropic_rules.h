// SPDX-License-Identifier: Apache-2.0
#pragma once
// anthropic_rules.h - how a strict server of Anthropic's Messages API refuses a request, in the API's own words:
// by the rules of the wire (providers/anthropic/rules.h), and by what only some models and gateways refuse.
//
// Has its own list of models, written from the API's documentation, not from the provider under test.
//
// Threading: pure functions.

#include <string>
#include <string_view>

namespace agentd::testing {

struct AnthropicRules {
  // A gateway's: tool blocks in the messages need `tools` beside them.
  bool tools_beside_tool_blocks = false;
  // Signatures are read only by the model whose name they begin with: "claude-opus-5-5/1".
  bool own_signatures_alone = false;
};

// The message of the 400 that the request is answered with; empty = it is accepted.
std::string anthropic_refusal(std::string_view body, const AnthropicRules& rules = {});

}  // namespace agentd::testing
