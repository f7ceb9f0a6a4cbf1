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
#include "providers/openai/hosts.h"

namespace agentd {

// Writes into an empty `out`. kInvalid when there is no message to send or a tool's schema is no
// JSON object. Blank texts are left out; a word stands for a message that would have none. The
// system prompt is the first message, each result of a tool one of its own, right behind the calls;
// images of results follow in a message of the user, since a result is a text. A word of the
// assistant's stands in front of that where the server wants one; one of the user's comes first.
// `provider` is the name that origins have.
Result<void> write_chat_request(JsonWriter& out, const ModelRequest& request, const ChatDialect& dialect,
                                std::string_view provider);

}  // namespace agentd
