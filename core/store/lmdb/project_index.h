// SPDX-License-Identifier: Apache-2.0
#pragma once
// project_index.h - the conversations of each project in the order of their newest changes, for lists.
//
// It can be rebuilt from the tables `changes` and `info`. A row names the change up to which it holds: an append moves
// it on only where it is current, so that one of an agentd that does not know it leaves it behind, not wrong, and the
// next list catches up. A row whose change is no longer its conversation's is stale: lists skip and erase it.
//
// Threading: pure functions; the transaction's thread.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/ids.h"
#include "core/base/result.h"
#include "core/store/lmdb/tables.h"

namespace agentd {

struct ProjectIndex {
  static constexpr std::string_view kUpTo = "upto";  // the row with the change up to which the index holds
  static constexpr std::size_t kProjectBytes = 16;

  MDB_dbi table = 0;

  // The beginning of a project's keys; the cursor of a change follows.
  static std::string keys_of(std::string_view project_id);

  // The change up to which it holds.
  Result<std::uint64_t> upto(const Txn& txn) const;
  // A conversation's newest change, made in this transaction; 0 = there was none before. `keys`: of its project, as of
  // keys_of(). Nothing is done unless the index was current before it.
  Result<void> move(Txn& txn, std::string_view keys, const Ulid& conversation, std::uint64_t old_cursor,
                    std::uint64_t new_cursor) const;
  Result<void> remove(Txn& txn, std::string_view project_id, std::uint64_t cursor) const;
  // The newest change, made in this transaction, is one that no list shows, such as a removal.
  Result<void> pass(Txn& txn, std::uint64_t cursor) const;
  // Takes up some more changes. kCorrupt: a conversation's row in table info is damaged; nothing is taken up then.
  Result<void> catch_up(Txn& txn, const Tables& tables) const;
  // Erases those of the rows with these keys that are stale.
  Result<void> erase_stale(Txn& txn, const Tables& tables, const std::vector<std::string>& keys) const;

 private:
  // True if it holds up to the change before `cursor`; a transaction reads that once.
  Result<bool> is_current_before(Txn& txn, std::uint64_t cursor) const;
  Result<void> put_upto(Txn& txn, std::uint64_t cursor) const;
};

}  // namespace agentd
