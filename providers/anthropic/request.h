// SPDX-License-Identifier: Apache-2.0
#pragma once
// request.h - writes a ModelRequest as the body of POST /v1/messages, in one pass.
//
// Threading: pure function.

#include <cstdint>
#include <functional>
#include <string_view>

#include "core/base/result.h"
#include "core/codec/json.h"
#include "core/model/provider.h"

namespace agentd {

// How long the provider keeps the common part of a conversation's requests: the tools, the system prompt, the messages
// so far. Writing for an hour costs more than for minutes; reading costs the same.
enum class AnthropicCache : std::uint8_t { kOff, kMinutes, kHour };

// Writes into an empty `out`. kInvalid when there is no message to send or a tool's schema is not a JSON object.
// Content that the provider refuses is left out: blank texts, thinking without its signature, and thinking at the end
// of a message. A placeholder replaces a required user message (first, last) that is left out completely.
//
// Thinking of another model than the request's, or of another provider than `provider`, is left out, and so are
// signatures that `keeps` refuses; empty = it refuses none.
using ThinkingFilter = std::function<bool(std::string_view signature)>;
Result<void> write_anthropic_request(JsonWriter& out, const ModelRequest& request, AnthropicCache cache,
                                     const ThinkingFilter& keeps = {}, std::string_view provider = "anthropic");

}  // namespace agentd
