// SPDX-License-Identifier: Apache-2.0
#include "core/store/lmdb/log_rows.h"

#include "core/store/log_rules.h"

namespace agentd {

Result<bool> is_erased_after(const Txn& txn, const Tables& tables, const Ulid& conversation, std::uint64_t revision) {
  AGENTD_TRY(Cursor cursor, Cursor::open(txn, tables.log));
  AGENTD_TRY(std::optional<Row> row, cursor.at_or_after(log_key(conversation, revision + 1)));
  while (row && row->key.starts_with(key_of(conversation))) {
    AGENTD_TRY(const Batch batch, decode_batch(row->value));
    if (erases(batch)) return true;
    AGENTD_TRY(row, cursor.next());
  }
  return false;
}

}  // namespace agentd
