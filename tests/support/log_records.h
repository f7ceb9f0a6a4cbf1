// SPDX-License-Identifier: Apache-2.0
#pragma once
// log_records.h - readers of the log records that agentd writes for other programs and does not read itself.
//
// Threading: pure functions.

#include <string>

#include "core/codec/json.h"
#include "core/conversation/record.h"

namespace agentd::testing {

inline Result<JsonDocument> open_record(const Record& from, RecordType type) {
  if (from.type != type) return Error{Code::kCorrupt, "another kind of record"};
  auto parsed = JsonDocument::parse(from.payload);
  if (!parsed || !parsed->root().is_object()) return Error{Code::kCorrupt, "not a JSON object"};
  return parsed;
}

inline std::string member(const JsonDocument& of, const char* key) { return std::string(of.root()[key].string_or("")); }

inline Result<HookEffectRecord> read_hook_effect(const Record& from) {
  AGENTD_TRY(const JsonDocument json, open_record(from, RecordType::kHookEffect));
  return HookEffectRecord{member(json, "event"),  member(json, "plugin"),        member(json, "plugin_digest"),
                          member(json, "effect"), member(json, "before_digest"), member(json, "after_digest"),
                          member(json, "reason")};
}

inline Result<ChildRecord> read_child(const Record& from) {
  AGENTD_TRY(const JsonDocument json, open_record(from, RecordType::kChild));
  return ChildRecord{member(json, "conversation_id"), member(json, "relation"), member(json, "agent_type"),
                     member(json, "call_id")};
}

}  // namespace agentd::testing
