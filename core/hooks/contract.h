// SPDX-License-Identifier: Apache-2.0
#pragma once
// contract.h - the contract of each event, as text: for `agentd hooks contract`, the reference page, and the examples
// that tests and `agentd hooks test` fire.
//
// Everything here is derived from AGENTD_EVENT_TABLE (hook_events.h) and the tables of payload_fields.h; an event that
// is added there appears here.
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
  std::string_view unit;  // for a number; empty = none
  std::string_view meaning;
  bool rewritten = false;  // an answer may replace this text
};
// The keys of a payload besides the envelope's. REQUIRES: an event of the core.
std::vector<ContractKey> contract_keys(std::uint32_t event);
// The keys of any table at that event; 0 = any event.
std::vector<ContractKey> contract_keys(const PayloadTable& table, std::uint32_t event);
// The objects that appear in several places: gauge, usage, message, block, recollection.
std::vector<const PayloadTable*> shared_objects();

// One possible answer to an event.
struct ContractAnswer {
  std::uint32_t kind = 0;  // AGENTD_ACT_
  std::string_view name;   // action_name()
  std::string answer;      // the keys of an answer object: "action: block, reason"
  std::string_view does;
  std::string_view merge;  // the rule if several hooks give it
};
std::vector<ContractAnswer> contract_answers(const EventTraits& event);
// True if the failure of a hook that fails closed stops something there, or withholds a text.
bool fails_closed(const EventTraits& event);
// The effect of a hook's failure on the event.
std::string contract_failure(const EventTraits& event);
// "yes: an answer stops the announced action".
std::string_view contract_blocking(const EventTraits& event);
// The key that a rewrite replaces; empty = none.
std::string contract_rewrites(const EventTraits& event);

// An example of the event's JSON with its envelope, written by payload_json().
// REQUIRES: an event of the core.
std::string sample_payload(std::uint32_t event);

// Text with lines of at most 100 columns; 0 = an overview of all events. Empty for an unknown id.
std::string contract_text(std::uint32_t event);
// One JSON object on one line; 0 = all events, the envelope and the shared objects. Empty for an
// unknown id.
std::string contract_json(std::uint32_t event);
// The text of docs/reference/events.md.
std::string events_reference();

}  // namespace agentd
