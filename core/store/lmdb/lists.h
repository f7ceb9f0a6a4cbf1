// SPDX-License-Identifier: Apache-2.0
#pragma once
// lists.h - conversations in the order of their changes: lists, and the feed of changes.
//
// Threading: pure functions; list_conversations() is thread-safe, a transaction has its own thread.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/store/lmdb/project_index.h"
#include "core/store/lmdb/removals.h"
#include "core/store/store.h"

namespace agentd {

// Store::list, of one project by its index if there is one, else of all. A long list takes several read transactions,
// and a conversation that changes between two of them is listed by its new change. `stale` gets the keys of some rows
// of the index that are stale.
Result<std::vector<ConversationInfo>> list_conversations(const Env& env, const Tables& tables,
                                                         const std::optional<ProjectIndex>& index,
                                                         const ConversationQuery& query,
                                                         std::vector<std::string>& stale);

// Store::changes. `removals`: none while the store has no such table.
Result<Store::Changes> changes_after(const Txn& txn, const Tables& tables, const std::optional<Removals>& removals,
                                     std::uint64_t cursor, std::uint32_t limit);

}  // namespace agentd
