// SPDX-License-Identifier: Apache-2.0
#pragma once
// removals.h - the conversations that were removed, at their places in the feed of changes.
//
// A removal takes a cursor of its own, which an agentd that does not know the table sees as one that is in use. Before
// the rows of the newest removals stands a mark with the nil id: removals up to it are not known. In the store of an
// older agentd, which kept none, the mark stands at the change before the first removal.
//
// Threading: pure functions; the transaction's thread.

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/base/ids.h"
#include "core/base/result.h"
#include "core/store/lmdb/tables.h"

namespace agentd {

struct Removals {
  MDB_dbi table = 0;

  // In a new store, before its first change: every removal will be known.
  Result<void> begin(Txn& txn) const;
  // Gives the removal the newest place in the feed, and forgets the oldest one beyond `kept`; its cursor.
  Result<std::uint64_t> add(Txn& txn, const Tables& tables, const Ulid& conversation,
                            std::uint64_t kept = kRemovalsKept) const;
  // The cursor up to which removals are not known.
  Result<std::uint64_t> lost(const Txn& txn) const;
};

// The conversation that a row names; the nil id is the mark. nullopt: the row is damaged.
std::optional<Ulid> removal_in(std::string_view key, std::string_view value);

}  // namespace agentd
