// SPDX-License-Identifier: Apache-2.0
#pragma once
// responses_request.h - a ModelRequest as the body of POST /responses, written in one pass.
//
// Wire format: platform.openai.com/docs/api-reference/responses. Nothing is stored at the provider:
// what the model thought travels sealed with each request, each item as it came.
//
// Threading: pure function.

#include <functional>
#include <string_view>

#include "core/base/result.h"
#include "core/codec/json.h"
#include "core/model/provider.h"

namespace agentd {

inline constexpr std::string_view kResponsesApi = "responses";

// Whether an item of reasoning goes along; empty = all.
using ReasoningFilter = std::function<bool(std::string_view item)>;

// Writes into an empty `out`. kInvalid when there is no message to send or a tool's schema is no
// JSON object. `provider` is the name that origins have: only what the same model thought there
// goes back to it, and only in front of what followed it.
Result<void> write_responses_request(JsonWriter& out, const ModelRequest& request, std::string_view provider,
                                     const ReasoningFilter& keeps);

}  // namespace agentd
