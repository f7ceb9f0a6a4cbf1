// SPDX-License-Identifier: Apache-2.0
#pragma once
// message_json.h - messages and boundaries of a log as JSON for clients: `conversation show --format json`, HTTP.
//
// Threading: pure functions.

#include <string>

#include "core/codec/json.h"
#include "core/conversation/record.h"

namespace agentd {

// "user", "context", "assistant", "summary", "tool"; else the record's kind.
std::string speaker(const StoredRecord& record);
// {"seq","role","erased"?,"time_ms","blocks":[{"type",...}]}. `message`: the record's, as it is to be shown.
void write_message_json(JsonWriter& out, const StoredRecord& record, const MessageRecord& message);
// {"seq","role":"boundary","time_ms","id","trigger","method","pre_tokens","post_tokens"}
void write_boundary_json(JsonWriter& out, const StoredRecord& record, const BoundaryRecord& boundary);
// Writes the record if it is one that people read: a message, a boundary or a revert; nothing otherwise. kCorrupt.
Result<void> write_record_json(JsonWriter& out, const StoredRecord& record);

}  // namespace agentd
