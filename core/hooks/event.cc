// SPDX-License-Identifier: Apache-2.0
#include "core/hooks/event.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace agentd {
namespace {

constexpr EventTraits kEvents[] = {
#define AGENTD_TRAITS(NAME, name, id, payload, blocking, continues, actions, text, fires, carries) \
  {id, #name, (blocking) != 0, (continues) != 0, actions, text, carries, fires},
    AGENTD_EVENT_TABLE(AGENTD_TRAITS)
#undef AGENTD_TRAITS
};

// The index of each id in the table, plus one; 0 for ids that the list leaves out.
constexpr std::array<std::uint8_t, 64> places() {
  std::array<std::uint8_t, 64> made{};
  std::uint8_t place = 0;
  for (const EventTraits& event : kEvents) made[event.id] = ++place;
  return made;
}
constexpr std::array<std::uint8_t, 64> kPlaces = places();

constexpr bool rises() {
  std::uint32_t last = 0;
  for (const EventTraits& event : kEvents) {
    if (event.id <= last || event.id >= kPlaces.size()) return false;
    last = event.id;
  }
  return true;
}
static_assert(rises(), "the ids of AGENTD_EVENT_ROWS rise and are below 64");

constexpr ActionTraits kActions[] = {
#define AGENTD_TRAITS(NAME, name, record, merge, answer, does) \
  {AGENTD_ACT_##NAME, #name, ActionMerge::k##merge, answer, does},
    AGENTD_ACTION_LIST(AGENTD_TRAITS)
#undef AGENTD_TRAITS
};

constexpr bool counts_up() {
  std::uint32_t next = AGENTD_ACT_BLOCK;
  for (const ActionTraits& action : kActions)
    if (action.kind != next++) return false;
  return next <= 32;  // action_bit()
}
static_assert(counts_up(), "the rows of AGENTD_ACTION_LIST are in the order of their numbers");

constexpr KeyTraits kKeys[] = {
#define AGENTD_TRAITS(NAME, answer, events) {AGENTD_KEY_##NAME, answer, events},
    AGENTD_KEY_LIST(AGENTD_TRAITS)
#undef AGENTD_TRAITS
};

}  // namespace

std::span<const EventTraits> all_events() { return kEvents; }

const EventTraits* find_event(std::uint32_t id) {
  return id < kPlaces.size() && kPlaces[id] != 0 ? &kEvents[kPlaces[id] - 1] : nullptr;
}

const EventTraits* find_event(std::string_view name) {
  for (const EventTraits& event : kEvents)
    if (event.name == name) return &event;
  return nullptr;
}

bool is_legal(std::uint32_t event, std::uint32_t action_kind) {
  const EventTraits* const traits = find_event(event);
  return traits != nullptr && action_kind < 32 && (traits->actions & action_bit(action_kind)) != 0;
}

std::span<const KeyTraits> all_keys() { return kKeys; }

bool is_legal_key(std::uint32_t event, std::uint32_t key) {
  return std::any_of(std::begin(kKeys), std::end(kKeys),
                     [&](const KeyTraits& each) { return each.key == key && (each.events & event_bit(event)) != 0; });
}

std::span<const ActionTraits> all_actions() { return kActions; }

const ActionTraits* find_action(std::uint32_t kind) {
  return kind >= 1 && kind <= std::size(kActions) ? &kActions[kind - 1] : nullptr;
}

std::string_view action_name(std::uint32_t kind) {
  const ActionTraits* const action = find_action(kind);
  return action != nullptr ? action->name : kind == 0 ? "none" : "?";
}

std::string_view permission_name(std::uint32_t decision) {
  switch (decision) {
    case AGENTD_PERMISSION_ALLOW:
      return "allow";
    case AGENTD_PERMISSION_DENY:
      return "deny";
    case AGENTD_PERMISSION_ASK:
      return "ask";
    case AGENTD_PERMISSION_DEFER:
      return "defer";
    default:
      return "?";
  }
}

}  // namespace agentd
