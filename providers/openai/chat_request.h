// SPDX-License-Identifier: Apache-2.0
#pragma once
// chat_request.h - writes a ModelRequest as the body of POST /chat/completions, in one pass.
//
// Wire format: platform.openai.com/docs/api-reference/chat.
//
// Threading: pure function.

#include <string_view>

#include "core/base/result.h"
#include "core/codec/json.h"
#include "core/model/provider.h"
#include "providers/openai/hosts.h"

namespace agentd {

// Writes into an empty `out`. kInvalid when there is no message to send or a tool's schema is not a JSON object. Blank
// texts are left out; a placeholder replaces a message that would be empty. The system prompt is the first message;
// each tool result is a message of its own, directly after the calls. Images of results follow in a user message,
// because a result is a text; where the server requires it, an assistant message precedes that. The first message after
// the system prompt is the user's. With wants_thinking_back() each answer has its thinking beside it, as far as the
// request's own model wrote it, otherwise an empty text. `provider` is the name in origins.
Result<void> write_chat_request(JsonWriter& out, const ModelRequest& request, const ChatDialect& dialect,
                                std::string_view provider);

// True if the model wants its thinking back and the server accepts it.
bool wants_thinking_back(const ModelRequest& request, const ChatDialect& dialect);

}  // namespace agentd
