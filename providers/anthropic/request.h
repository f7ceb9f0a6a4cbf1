// SPDX-License-Identifier: Apache-2.0
#pragma once
// request.h - a ModelRequest as the body of POST /v1/messages, written in one pass.
//
// Threading: pure function.

#include <cstdint>
#include <functional>
#include <string_view>

#include "core/base/result.h"
#include "core/codec/json.h"
#include "core/model/provider.h"

namespace agentd {

// How long the provider keeps what requests of one conversation have in common: the tools, the system prompt,
// the messages so far. A write for an hour costs more than one for minutes, and reads cost the same.
enum class AnthropicCache : std::uint8_t { kOff, kMinutes, kHour };

// Writes into an empty `out`. kInvalid when there is no message to send or a tool's schema is no
// JSON object. What the provider refuses is left out: blank texts, thinking without its signature,
// and thinking that ends a message. Where a message of the user is left out in whole and one is
// needed (first, last), a word stands for it.
//
// Thinking of another model than the request's, or of another provider than `provider`, is left out,
// and what `keeps` refuses by its signature; empty = it refuses none.
using ThinkingFilter = std::function<bool(std::string_view signature)>;
Result<void> write_anthropic_request(JsonWriter& out, const ModelRequest& request, AnthropicCache cache,
                                     const ThinkingFilter& keeps = {}, std::string_view provider = "anthropic");

}  // namespace agentd
