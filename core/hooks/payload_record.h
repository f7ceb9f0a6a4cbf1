// SPDX-License-Identifier: Apache-2.0
#pragma once
// payload_record.h - reads an event from its JSON: the reverse of payload_json().
//
// `agentd hooks test` fires hand-written events, `agentd hooks replay` recorded ones. Reading the text of
// payload_json() and writing it again gives the same bytes.
//
// A hand-written object may be partial: absent members are empty or have the usual value (a message is the user's, a
// compaction automatic). Keys that repeat others (tool_name, tool_output, context.percent,
// usage.current_context_window) may replace them; if both are present they must agree. `hook` is read and checked; its
// `attempt` goes into the envelope.
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
  // `event` is the object's event if it has no key `event`; 0 = the key is required. kInvalid names the key that is
  // unknown, of the wrong type or in contradiction with another.
  static Result<PayloadRecord> from_json(std::string_view canonical_json, std::uint32_t event = 0);

  std::uint32_t event() const { return event_; }
  // Both live as long as this object, which may be moved.
  const agentd_envelope* envelope() const { return envelope_; }
  // The record of the event, as hook_events.h names it.
  const void* payload() const { return payload_; }

  // Puts a text that a hook has rewritten into the payload; `target` is an AGENTD_TEXT_. kInvalid: the event has no
  // such text; nothing is changed.
  Result<void> rewrite(std::uint32_t target, std::string_view text);

 private:
  PayloadRecord(std::uint32_t event, std::unique_ptr<Arena> arena) : event_(event), arena_(std::move(arena)) {}

  std::uint32_t event_;
  std::unique_ptr<Arena> arena_;  // owns all that follows
  agentd_envelope* envelope_ = nullptr;
  char* payload_ = nullptr;
};

}  // namespace agentd
