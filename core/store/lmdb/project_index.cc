// SPDX-License-Identifier: Apache-2.0
#include "core/store/lmdb/project_index.h"

#include <utility>
#include <vector>

namespace agentd {
namespace {

constexpr std::size_t kChangesAtOnce = 1'000;

}  // namespace

std::string ProjectIndex::keys_of(std::string_view project_id) {
  return std::string(key_of(sha256(project_id)).substr(0, kProjectBytes));
}

Result<std::uint64_t> ProjectIndex::upto(const Txn& txn) const { return number_at(txn, table, kUpTo); }

Result<bool> ProjectIndex::is_current_before(Txn& txn, std::uint64_t cursor) const {
  std::optional<std::uint64_t>& holds = txn.known().index_upto;
  if (!holds) {
    AGENTD_TRY(holds, upto(txn));
  }
  return *holds + 1 == cursor;
}

Result<void> ProjectIndex::put_upto(Txn& txn, std::uint64_t cursor) const {
  txn.known().index_upto = cursor;
  return txn.put(table, kUpTo, number(cursor));
}

Result<void> ProjectIndex::move(Txn& txn, std::string_view keys, const Ulid& conversation, std::uint64_t old_cursor,
                                std::uint64_t new_cursor) const {
  AGENTD_TRY(const bool was_current, is_current_before(txn, new_cursor));
  if (!was_current) return {};
  const auto key = [&](std::uint64_t cursor) { return std::string(keys).append(number(cursor)); };
  if (old_cursor != 0) AGENTD_TRY_VOID(txn.erase(table, key(old_cursor)));
  AGENTD_TRY_VOID(txn.put(table, key(new_cursor), key_of(conversation)));
  return put_upto(txn, new_cursor);
}

Result<void> ProjectIndex::remove(Txn& txn, std::string_view project_id, std::uint64_t cursor) const {
  return txn.erase(table, keys_of(project_id) + number(cursor));
}

Result<void> ProjectIndex::pass(Txn& txn, std::uint64_t cursor) const {
  AGENTD_TRY(const bool was_current, is_current_before(txn, cursor));
  return was_current ? put_upto(txn, cursor) : Result<void>();
}

Result<void> ProjectIndex::catch_up(Txn& txn, const Tables& tables) const {
  AGENTD_TRY(const std::uint64_t holds, upto(txn));
  AGENTD_TRY(const std::uint64_t newest, newest_change(txn, tables));
  std::vector<std::pair<std::string, std::string>> rows;
  std::uint64_t last = holds;
  {
    AGENTD_TRY(Cursor cursor, Cursor::open(txn, tables.changes));
    AGENTD_TRY(std::optional<Row> row, cursor.at_or_after(number(holds + 1)));
    while (row && rows.size() < kChangesAtOnce) {
      AGENTD_TRY(last, read_number(row->key));
      AGENTD_TRY(const ConversationInfo info, info_of(txn, tables, row->value));
      rows.emplace_back(keys_of(info.project_id) + number(last), row->value);
      AGENTD_TRY(row, cursor.next());
    }
  }
  for (const auto& [key, conversation] : rows) AGENTD_TRY_VOID(txn.put(table, key, conversation));
  return put_upto(txn, rows.size() == kChangesAtOnce ? last : newest);
}

Result<void> ProjectIndex::erase_stale(Txn& txn, const Tables& tables, const std::vector<std::string>& keys) const {
  for (const std::string& key : keys) {
    AGENTD_TRY(const std::optional<std::string_view> value, txn.get(table, key));
    const std::optional<Ulid> id = value ? read_ulid(*value) : std::nullopt;
    AGENTD_TRY(const std::optional<HeadRow> head,
               id ? head_of(txn, tables, *id) : Result<std::optional<HeadRow>>(std::optional<HeadRow>{}));
    if (!head || number(head->cursor) != key.substr(kProjectBytes)) AGENTD_TRY_VOID(txn.erase(table, key));
  }
  return {};
}

}  // namespace agentd
