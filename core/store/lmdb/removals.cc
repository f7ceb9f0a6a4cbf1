// SPDX-License-Identifier: Apache-2.0
#include "core/store/lmdb/removals.h"

#include <string>

namespace agentd {

std::optional<Ulid> removal_in(std::string_view key, std::string_view value) {
  return read_number(key) ? read_ulid(value) : std::nullopt;
}

Result<void> Removals::begin(Txn& txn) const { return txn.put(table, number(0), key_of(Ulid())); }

Result<std::uint64_t> Removals::add(Txn& txn, const Tables& tables, const Ulid& conversation,
                                    std::uint64_t kept) const {
  AGENTD_TRY(const std::uint64_t before, newest_change(txn, tables));
  AGENTD_TRY(const std::uint64_t rows, txn.count(table));
  if (rows == 0) AGENTD_TRY_VOID(txn.put(table, number(before), key_of(Ulid())));
  AGENTD_TRY(const std::uint64_t cursor, take_cursor(txn, tables));
  AGENTD_TRY_VOID(txn.put(table, number(cursor), key_of(conversation)));
  if (rows <= kept) return cursor;
  // The mark moves to the oldest removal.
  std::string mark, oldest;
  {
    AGENTD_TRY(Cursor at, Cursor::open(txn, table));
    AGENTD_TRY(std::optional<Row> row, at.at_or_after(number(0)));
    if (row) mark = row->key;
    AGENTD_TRY(row, at.next());
    if (row) oldest = row->key;
  }
  AGENTD_TRY_VOID(txn.erase(table, mark));
  AGENTD_TRY_VOID(txn.put(table, oldest, key_of(Ulid())));
  return cursor;
}

Result<std::uint64_t> Removals::lost(const Txn& txn) const {
  AGENTD_TRY(Cursor at, Cursor::open(txn, table));
  AGENTD_TRY(const std::optional<Row> row, at.at_or_after(number(0)));
  return row && row->value == key_of(Ulid()) ? read_number(row->key) : 0;
}

}  // namespace agentd
