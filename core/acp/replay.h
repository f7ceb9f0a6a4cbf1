// SPDX-License-Identifier: Apache-2.0
#pragma once
// replay.h - a conversation's log, told again as updates: what its people and its models said, its tool calls with
// their results, its compactions.
//
// Threading: as Updates.

#include "core/acp/updates.h"
#include "core/base/ids.h"
#include "core/store/store.h"

namespace agentd::acp {

// kNotFound, kCorrupt.
Result<void> replay(const Store& store, const Ulid& conversation, Updates& updates);

// The text of the summary of the boundary in effect; empty = there is none.
std::string summary_in(const Store& store, const Ulid& conversation);

}  // namespace agentd::acp
