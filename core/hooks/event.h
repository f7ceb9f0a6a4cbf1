// SPDX-License-Identifier: Apache-2.0
#pragma once
// event.h - the core's facts about each event and action: names, what is legal, how answers merge.
//
// The rows come from AGENTD_EVENT_TABLE in hook_events.h and AGENTD_ACTION_LIST and AGENTD_KEY_LIST in hook_actions.h;
// the dispatcher, the JSON of payloads, the contract and the tests read them here.
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
  bool blocking = false;          // BLOCK stops the announced action
  bool continues = false;         // CONTINUE adds a user message and the run continues
  std::uint32_t actions = 0;      // action_bit()s that are legal
  std::uint32_t text_target = 0;  // the text that AGENTD_TEXT_DEFAULT rewrites; 0 = none
  std::string_view carries;       // the payload's contents, shown to users
  std::string_view fires;         // when it fires, shown to users
};

// How an action of several hooks merges; see hook_actions.h.
enum class ActionMerge : std::uint8_t {
  kBlocks,
  kAddsUp,
  kExclusive,
  kChains,
  kLastWins,
  kStrictest,
  kEndsRun,
  kAnswers,  // a control call; no event takes it
};

// A row of AGENTD_ACTION_LIST.
struct ActionTraits {
  std::uint32_t kind = 0;  // AGENTD_ACT_
  std::string_view name;   // "block"
  ActionMerge merge = ActionMerge::kAddsUp;
  std::string_view answer;  // the keys of a program's answer, shown to users
  std::string_view does;    // shown to users
};

// All actions in order of their numbers, which begin with 1 and have no gap.
std::span<const ActionTraits> all_actions();
// Null for an unknown kind.
const ActionTraits* find_action(std::uint32_t kind);

// All events in order of id.
std::span<const EventTraits> all_events();
// Null for an id that is not a core event.
const EventTraits* find_event(std::uint32_t id);
const EventTraits* find_event(std::string_view name);
bool is_legal(std::uint32_t event, std::uint32_t action_kind);

// A row of AGENTD_KEY_LIST: a key of SET.
struct KeyTraits {
  std::uint32_t key = 0;    // AGENTD_KEY_
  std::string_view answer;  // the key of a program's answer, or in parentheses what else sets it; shown to users
  std::uint64_t events = 0;
};
std::span<const KeyTraits> all_keys();
// True if SET has an effect for the key (AGENTD_KEY_) at that event.
bool is_legal_key(std::uint32_t event, std::uint32_t key);
// "block", "replace", ...; "?" for an unknown kind.
std::string_view action_name(std::uint32_t kind);
// "allow", "deny", "ask" or "defer"; "?" for an unknown AGENTD_PERMISSION_.
std::string_view permission_name(std::uint32_t decision);

// True where hooks may take a text away before anybody else sees it: by blocking a message, by rewriting an answer or a
// tool's output. The log has such a text only in the form in which they leave it.
constexpr bool has_removable_text(std::uint32_t event) {
  return event == AGENTD_EVENT_USER_MESSAGE_SEND || event == AGENTD_EVENT_AFTER_MODEL_CALL ||
         event == AGENTD_EVENT_AFTER_TOOL_CALL || event == AGENTD_EVENT_TOOL_CALL_FAILED;
}

constexpr std::uint64_t event_bit(std::uint32_t id) { return id < 64 ? 1ull << id : 0; }

}  // namespace agentd
