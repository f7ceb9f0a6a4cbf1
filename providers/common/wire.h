// SPDX-License-Identifier: Apache-2.0
#pragma once
// wire.h - rows of a view as the messages of a wire format.
//
// Every provider's format knows two speakers in turn, while a view may hold neighbours of one role (a tool
// result and the context a hook added, a summary and the user's next question).
//
// Threading: pure functions.

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/conversation/rows.h"
#include "core/model/provider.h"

namespace agentd {

// Neighbouring rows that become one message.
struct WireGroup {
  bool assistant = false;
  std::vector<const agentd_message*> rows;
};

// True when the block of that row has something to say on the wire.
using WireFilter = std::function<bool(const agentd_message&, const agentd_block&)>;

// The rows in order, joined by role; rows of which no block passes `sendable` are left out, and so are no
// reason to part their neighbours. SUMMARY counts as user.
std::vector<WireGroup> group_rows(std::span<const agentd_message> rows, const WireFilter& sendable);

// Of that kind, and with something to say on the wire: no blank text, no image or document without its bytes.
bool is_text(const agentd_block& block);
bool is_media(const agentd_block& block);  // an image or a document
bool is_call(const agentd_block& block);
bool is_result(const agentd_block& block);

// Schemas come from plugins and servers: a bad one must not spoil the whole body. kInvalid, with the
// tool's name and origin, unless the schema is empty or a JSON object.
Result<void> check_schema(const ToolSpec& tool);

// "data:image/png;base64,...".
std::string data_url(const agentd_block& media);
// What a document is called where a name is needed.
std::string_view title_of(const agentd_block& document);

std::span<const agentd_block> block_span(const agentd_message& row);
std::span<const agentd_block> part_span(const agentd_block& block);

}  // namespace agentd
