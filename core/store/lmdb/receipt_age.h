// SPDX-License-Identifier: Apache-2.0
#pragma once
// receipt_age.h - finds the oldest receipts of hooks, for their retention.
//
// There is no index by time. Rows are in the order of their conversations, whose ids are of when they began, and within
// one in the order of their appends: a conversation that began later has no older receipt. So a search passes only
// conversations that began before what it searches for and still have receipts.
//
// Threading: thread-safe, but erase_receipts() belongs to its transaction's thread.

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/store/lmdb/tables.h"

namespace agentd {

// The keys of at most `limit` receipts of before `before_ms`, each with all before it in its conversation. A receipt
// that is damaged is as one that is not old.
Result<std::vector<std::string>> old_receipts(const Env& env, MDB_dbi receipts, std::int64_t before_ms,
                                              std::uint32_t limit);
// Erases those of them that are still there, and their mentions of payloads; returns how many.
Result<std::uint64_t> erase_receipts(Txn& txn, const Tables& tables, MDB_dbi receipts,
                                     const std::vector<std::string>& keys, std::int64_t before_ms);
// The time of the oldest one that is whole; 0 = there is none.
Result<std::int64_t> oldest_receipt_ms(const Env& env, MDB_dbi receipts);

}  // namespace agentd
