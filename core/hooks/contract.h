// SPDX-License-Identifier: Apache-2.0
#pragma once
// contract.h - what each event promises to hooks, in words: for `agentd hooks contract`, the
// reference page, and the examples that tests and `agentd hooks test` fire.
//
// Everything here is worked out from AGENTD_EVENT_TABLE (hook_events.h) and the tables of
// payload_fields.h; an event that is added there appears here.
//
// Threading: pure functions.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/hooks/event.h"
#include "core/hooks/payload_fields.h"

namespace agentd {

// One key of a JSON object.
struct ContractKey {
  std::string path;       // "tool.name", "messages[].role"
  std::string type;       // "text", "number or null", "list of `message`, optional"
  std::string_view unit;  // of a number; empty = none
  std::string_view meaning;
  bool rewritten = false;  // an answer may replace this text
};
// The keys of a payload beside the envelope's. REQUIRES: an event of the core.
std::vector<ContractKey> contract_keys(std::uint32_t event);
// Of any table, as the event has it; 0 = whatever the event.
std::vector<ContractKey> contract_keys(const PayloadTable& table, std::uint32_t event);
// The objects that stand in several places: gauge, usage, message, block, recollection.
std::vector<const PayloadTable*> shared_objects();

// One thing that an event may be answered.
struct ContractAnswer {
  std::uint32_t kind = 0;  // AGENTD_ACT_
  std::string_view name;   // action_name()
  std::string answer;      // the keys of an answer object: "action: block, reason"
  std::string_view does;
  std::string_view merge;  // what happens when several hooks say it
};
std::vector<ContractAnswer> contract_answers(const EventTraits& event);
// Whether the failure of a hook that fails closed stops anything there, or withholds a text.
bool fails_closed(const EventTraits& event);
// What becomes of the event when a hook fails.
std::string contract_failure(const EventTraits& event);
// "yes: an answer stops what it announces".
std::string_view contract_blocking(const EventTraits& event);
// The key that a rewrite replaces; empty = none.
std::string contract_rewrites(const EventTraits& event);

// An example of the event's JSON, the envelope included; payload_json() wrote it.
// REQUIRES: an event of the core.
std::string sample_payload(std::uint32_t event);

// For people, lines of at most 100 columns; 0 = an overview of all events. Empty for an unknown id.
std::string contract_text(std::uint32_t event);
// One JSON object on one line; 0 = all events, the envelope and the shared objects. Empty for an
// unknown id.
std::string contract_json(std::uint32_t event);
// docs/reference/events.md.
std::string events_reference();

}  // namespace agentd
