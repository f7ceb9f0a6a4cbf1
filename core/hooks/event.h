// SPDX-License-Identifier: Apache-2.0
#pragma once
// event.h - what the core knows of each event: its name, whether it blocks, the legal actions.
//
// The rows are those of AGENTD_EVENT_TABLE in hook_events.h; the dispatcher, the JSON of payloads,
// the contract and the tests read them here.
//
// Threading: immutable data.

#include <agentd/hook_abi.h>

#include <cstdint>
#include <span>
#include <string_view>

namespace agentd {

constexpr std::uint32_t action_bit(std::uint32_t kind) { return 1u << kind; }

struct EventTraits {
  std::uint32_t id = 0;
  std::string_view name;
  bool blocking = false;          // BLOCK stops what the event announces
  bool continues = false;         // CONTINUE adds a user message and the run goes on
  std::uint32_t actions = 0;      // action_bit()s that are legal
  std::uint32_t text_target = 0;  // what AGENTD_TEXT_DEFAULT rewrites; 0 = nothing
  std::string_view carries;       // what the payload has, for people
  std::string_view fires;         // when it fires, for people
};

// All events in order of id.
std::span<const EventTraits> all_events();
// Null for an id that is not the core's.
const EventTraits* find_event(std::uint32_t id);
const EventTraits* find_event(std::string_view name);
bool is_legal(std::uint32_t event, std::uint32_t action_kind);
// Whether SET means something for the key (AGENTD_KEY_) at that event.
bool is_legal_key(std::uint32_t event, std::uint32_t key);
// "block", "replace", ...; "?" for a kind that is not known.
std::string_view action_name(std::uint32_t kind);

constexpr std::uint64_t event_bit(std::uint32_t id) { return id < 64 ? 1ull << id : 0; }

}  // namespace agentd
