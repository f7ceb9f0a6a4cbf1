// SPDX-License-Identifier: Apache-2.0
#pragma once
// waits.h - tool calls that wait for a person's answer, whatever process has asked: they are found by the id of the
// wait, shown, and answered once.
//
// A wait is in the log of its conversation (WaitRecord); keys of the store say which conversation that is. A key may
// outlive its wait, so the log decides.
//
// Threading: functions over a thread-safe store.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/agent/agent.h"
#include "core/agent/states.h"
#include "core/conversation/view.h"
#include "core/store/store.h"

namespace agentd {

// A wait that is open, and where.
struct WaitingCall {
  Ulid conversation;  // whose log has it; of a subagent's question, the subagent's
  Ulid root;          // the user's conversation, whose session goes on
  OpenWait open;
};

// Names the conversation of a wait that is about to be committed.
Result<void> name_wait(Store& store, const std::string& wait, const std::string& conversation);

// The waits that a person can answer, oldest first.
Result<std::vector<WaitingCall>> list_waits(Store& store, std::int64_t now_ms);
// By its id, a unique part that the id begins with, or the conversation. kConflict: it has ended, with the answer that
// it got; kNotFound: there is none, or its conversation has gone on without it; kInvalid: several begin so.
Result<WaitingCall> find_wait(const Store& store, std::string_view id);
// The wait of a conversation; nullopt = it has none.
Result<std::optional<OpenWait>> wait_of(const Store& store, const Ulid& conversation);
// The wait whose answer this one needs: a subagent's, or itself. nullopt: the subagent waits no longer.
Result<std::optional<OpenWait>> asked_of(const Store& store, const OpenWait& open);

struct GivenAnswer {
  WaitDecision decision = WaitDecision::kDeny;
  std::string by, door, reason;
};
// Appends the answer, under the conversation's lease. kBlocked: it has one already, or its time is over; kNotFound: it
// is not open any more; kBusy: another process works in the conversation.
Result<void, RunError> answer_wait(Store& store, const Clock& clock, const WaitingCall& waiting,
                                   const GivenAnswer& answer);

}  // namespace agentd
