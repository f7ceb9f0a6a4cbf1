// SPDX-License-Identifier: Apache-2.0
#pragma once
// responses_request.h - writes a ModelRequest as the body of POST /responses, in one pass.
//
// Wire format: platform.openai.com/docs/api-reference/responses. Nothing is stored at the provider: each request
// carries the model's sealed thinking, with unchanged items.
//
// Threading: pure function.

#include <functional>
#include <string_view>

#include "core/base/result.h"
#include "core/codec/json.h"
#include "core/model/provider.h"

namespace agentd {

inline constexpr std::string_view kResponsesApi = "responses";

// True if an item of reasoning is sent; empty = all are.
using ReasoningFilter = std::function<bool(std::string_view item)>;

// Writes into an empty `out`. kInvalid when there is no message to send or a tool's schema is not a JSON object.
// `provider` is the name in origins: thinking is sent back only to the same model there, and only before the item that
// followed it.
Result<void> write_responses_request(JsonWriter& out, const ModelRequest& request, std::string_view provider,
                                     const ReasoningFilter& keeps);

}  // namespace agentd
