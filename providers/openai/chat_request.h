// SPDX-License-Identifier: Apache-2.0
#pragma once
// chat_request.h - a ModelRequest as the body of POST /chat/completions, written in one pass.
//
// Wire format: platform.openai.com/docs/api-reference/chat.
//
// Threading: pure function.

#include <string_view>

#include "core/base/result.h"
#include "core/codec/json.h"
#include "core/model/provider.h"

namespace agentd {

// In what servers that speak the format differ.
struct ChatDialect {
  std::string_view output_limit = "max_tokens";  // the key
  // What the model thought goes back with the answers of the tool loop that it belongs to, under this key; empty =
  // it does not go back.
  std::string_view reasoning{};
};

// Writes into an empty `out`. kInvalid when there is no message to send or a tool's schema is no JSON object. Blank
// texts are left out; a word stands for a message that would have none. The system prompt is the first message, each
// result of a tool one of its own, right behind the calls; images of results follow in a message of the user, since
// a result is a text.
Result<void> write_chat_request(JsonWriter& out, const ModelRequest& request, const ChatDialect& dialect);

}  // namespace agentd
