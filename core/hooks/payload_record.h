// SPDX-License-Identifier: Apache-2.0
#pragma once
// payload_record.h - an event read back from its JSON: the way from payload_json() home.
//
// `agentd hooks test` fires what somebody wrote by hand, `agentd hooks replay` what was recorded.
// Reading what payload_json() wrote and writing it again gives the same bytes.
//
// A hand-written object may be partial: what is absent is empty, or the usual value (a message is
// the user's, a compaction is automatic). Keys that repeat others (tool_name, tool_output,
// context.percent, usage.current_context_window) may stand for them; when both are there they have
// to agree. `hook` is read and checked, its `attempt` goes into the envelope.
//
// Threading: thread-compatible; the records may be read from several threads at once.

#include <agentd/hook_abi.h>

#include <cstdint>
#include <memory>
#include <string_view>

#include "core/base/result.h"
#include "core/conversation/rows.h"

namespace agentd {

class PayloadRecord {
 public:
  // `event` is which one the object is when it has no key `event`; 0 = it needs one.
  // kInvalid names the key that is unknown, of the wrong type or in contradiction with another.
  static Result<PayloadRecord> from_json(std::string_view canonical_json, std::uint32_t event = 0);

  std::uint32_t event() const { return event_; }
  // Both live as long as this object, which may be moved.
  const agentd_envelope* envelope() const { return envelope_; }
  // The record of the event, as hook_events.h names it.
  const void* payload() const { return payload_; }

  // Puts a text that a hook has rewritten into the payload; `target` is an AGENTD_TEXT_.
  // kInvalid: the event has no such text; nothing is changed.
  Result<void> rewrite(std::uint32_t target, std::string_view text);

 private:
  PayloadRecord(std::uint32_t event, std::unique_ptr<Arena> arena) : event_(event), arena_(std::move(arena)) {}

  std::uint32_t event_;
  std::unique_ptr<Arena> arena_;  // owns all that follows
  agentd_envelope* envelope_ = nullptr;
  char* payload_ = nullptr;
};

}  // namespace agentd
