// SPDX-License-Identifier: Apache-2.0
#include "core/store/lmdb/tables.h"

#include <algorithm>
#include <array>

#include "core/base/bytes.h"

namespace agentd {
namespace {

constexpr std::string_view kChangeFloor = "change_floor";
constexpr std::size_t kHeadBytes = 8 + 32 + 8;

constexpr std::string_view kSealBegin = ",\"crc32c\":\"", kSealEnd = "\"}";
constexpr std::size_t kSealBytes = kSealBegin.size() + 8 + kSealEnd.size();

std::string seal_of(std::string_view text) {
  std::string sum;
  put_be32(sum, crc32c(text));
  return std::string(kSealBegin)
      .append(hex({reinterpret_cast<const std::uint8_t*>(sum.data()), sum.size()}))
      .append(kSealEnd);
}

}  // namespace

std::string sealed(std::string json) {
  json.pop_back();
  return json.append(seal_of(json));
}

bool is_sealed(std::string_view json) {
  return json.size() > kSealBytes && json.substr(json.size() - kSealBytes).starts_with(kSealBegin) &&
         json.ends_with(kSealEnd);
}

bool is_sealed_well(std::string_view json) {
  if (!is_sealed(json)) return true;
  const std::size_t at = json.size() - kSealBytes;
  return json.substr(at) == seal_of(json.substr(0, at));
}

Result<Tables> Tables::open(Txn& txn, bool create) {
  Tables out;
  const std::array<std::pair<const char*, MDB_dbi*>, 8> all{{{"meta", &out.meta},
                                                             {"log", &out.log},
                                                             {"head", &out.head},
                                                             {"info", &out.info},
                                                             {"changes", &out.changes},
                                                             {"kv", &out.keys},
                                                             {"blob", &out.blob},
                                                             {"mentions", &out.mentions}}};
  for (const auto& [name, table] : all) {
    AGENTD_TRY(*table, txn.open_table(name, create));
  }
  return out;
}

const char* LaterTables::text_of(Name name) {
  switch (name) {
    case Name::kReceipts:
      return "receipts";
    case Name::kByProject:
      return "by_project";
    case Name::kRemoved:
      return "removed";
  }
  return "";
}

std::optional<MDB_dbi> LaterTables::opened(Name name) const {
  const MutexLock lock(mutex_);
  const auto found = opened_.find(name);
  return found == opened_.end() ? std::nullopt : std::optional(found->second);
}

Result<std::optional<MDB_dbi>> LaterTables::find(Env& env, Name name, bool create, Env::Room room) {
  const MutexLock lock(mutex_);
  if (const auto found = opened_.find(name); found != opened_.end()) return std::optional(found->second);
  {
    AGENTD_TRY(Txn txn, env.begin_read());
    auto table = txn.open_table(text_of(name), false);
    if (table) {
      AGENTD_TRY_VOID(txn.keep_tables());
      return std::optional(opened_[name] = *table);
    }
    if (table.error().code != Code::kNotFound) return table.error();
  }
  if (!create) return std::optional<MDB_dbi>{};
  MDB_dbi made = 0;
  AGENTD_TRY_VOID(env.write(room, [&](Txn& txn) -> Result<void> {
    AGENTD_TRY(made, txn.open_table(text_of(name), true));
    return {};
  }));
  return std::optional(opened_[name] = made);
}

std::string write_head(const HeadRow& row) {
  std::string out;
  out.reserve(kHeadBytes);
  put_be64(out, row.head.revision);
  out.append(key_of(row.head.chain));
  put_be64(out, row.cursor);
  return out;
}

Result<HeadRow> read_head(std::string_view value) {
  if (value.size() != kHeadBytes)
    return Error{Code::kCorrupt, "the head of a conversation has " + std::to_string(value.size()) + " bytes, not " +
                                     std::to_string(kHeadBytes)};
  HeadRow out;
  out.head.revision = get_be64(value.data());
  std::copy_n(value.data() + 8, 32, reinterpret_cast<char*>(out.head.chain.data()));
  out.cursor = get_be64(value.data() + 40);
  return out;
}

std::string_view key_of(const Ulid& conversation) {
  return {reinterpret_cast<const char*>(conversation.bytes().data()), 16};
}

std::string_view key_of(const Digest& digest) { return {reinterpret_cast<const char*>(digest.data()), digest.size()}; }

std::string number(std::uint64_t value) {
  std::string out;
  put_be64(out, value);
  return out;
}

Result<std::uint64_t> read_number(std::string_view value) {
  if (value.size() == 8) return get_be64(value.data());
  return Error{Code::kCorrupt, "a number of the store has " + std::to_string(value.size()) + " bytes, not 8"};
}

std::string log_key(const Ulid& conversation, std::uint64_t first_seq) {
  std::string out(key_of(conversation));
  put_be64(out, first_seq);
  return out;
}

std::string space_key(std::string_view space, std::string_view key) {
  return std::string(space).append(1, '\0').append(key);
}

std::optional<Ulid> read_ulid(std::string_view key) {
  std::array<std::uint8_t, 16> bytes{};
  if (key.size() != bytes.size()) return std::nullopt;
  std::copy(key.begin(), key.end(), reinterpret_cast<char*>(bytes.data()));
  return Ulid(bytes);
}

Result<std::optional<HeadRow>> head_of(const Txn& txn, const Tables& tables, const Ulid& conversation) {
  AGENTD_TRY(const std::optional<std::string_view> value, txn.get(tables.head, key_of(conversation)));
  if (!value) return std::optional<HeadRow>{};
  AGENTD_TRY(const HeadRow row, read_head(*value));
  return std::optional(row);
}

Result<ConversationInfo> info_of(const Txn& txn, const Tables& tables, std::string_view conversation) {
  AGENTD_TRY(const std::optional<std::string_view> value, txn.get(tables.info, conversation));
  if (!value) return Error{Code::kCorrupt, "a conversation is missing from the index of the store"};
  if (!is_sealed_well(*value))
    return Error{Code::kCorrupt, "the index row of a conversation in the store " + txn.directory() +
                                     " does not match its checksum; " + kDamageAdvice};
  return read_info(*value);
}

Result<std::uint64_t> number_at(const Txn& txn, MDB_dbi table, std::string_view key) {
  AGENTD_TRY(const std::optional<std::string_view> value, txn.get(table, key));
  return value ? read_number(*value) : 0;
}

Result<std::uint64_t> newest_change(const Txn& txn, const Tables& tables) {
  AGENTD_TRY(const std::uint64_t floor, number_at(txn, tables.meta, kChangeFloor));
  AGENTD_TRY(Cursor cursor, Cursor::open(txn, tables.changes));
  AGENTD_TRY(const std::optional<Row> row, cursor.last());
  AGENTD_TRY(const std::uint64_t last, row ? read_number(row->key) : Result<std::uint64_t>(0));
  return std::max(floor, last);
}

namespace {

// To be written by the caller. The transaction reads the newest one once.
Result<std::uint64_t> next_change(Txn& txn, const Tables& tables) {
  std::optional<std::uint64_t>& newest = txn.known().newest_change;
  if (!newest) {
    AGENTD_TRY(newest, newest_change(txn, tables));
  }
  return ++*newest;
}

}  // namespace

Result<std::uint64_t> push_change(Txn& txn, const Tables& tables, const Ulid& conversation, std::uint64_t old_cursor) {
  AGENTD_TRY(const std::uint64_t cursor, next_change(txn, tables));
  if (old_cursor != 0) AGENTD_TRY_VOID(txn.erase(tables.changes, number(old_cursor)));
  AGENTD_TRY_VOID(txn.put(tables.changes, number(cursor), key_of(conversation)));
  return cursor;
}

Result<std::uint64_t> take_cursor(Txn& txn, const Tables& tables) {
  AGENTD_TRY(const std::uint64_t cursor, next_change(txn, tables));
  AGENTD_TRY_VOID(txn.put(tables.meta, kChangeFloor, number(cursor)));
  return cursor;
}

Result<void> add_blob(Txn& txn, const Tables& tables, const Digest& digest, std::string_view bytes) {
  AGENTD_TRY(const std::uint64_t mentions, number_at(txn, tables.mentions, key_of(digest)));
  if (mentions == 0) AGENTD_TRY_VOID(txn.put(tables.blob, key_of(digest), bytes));
  return txn.put(tables.mentions, key_of(digest), number(mentions + 1));
}

Result<bool> share_blob(Txn& txn, const Tables& tables, const Digest& digest, std::uint64_t more) {
  AGENTD_TRY(const std::uint64_t mentions, number_at(txn, tables.mentions, key_of(digest)));
  if (mentions == 0) return false;
  AGENTD_TRY_VOID(txn.put(tables.mentions, key_of(digest), number(mentions + more)));
  return true;
}

Result<void> drop_blob(Txn& txn, const Tables& tables, const Digest& digest) {
  AGENTD_TRY(const std::uint64_t mentions, number_at(txn, tables.mentions, key_of(digest)));
  if (mentions > 1) return txn.put(tables.mentions, key_of(digest), number(mentions - 1));
  AGENTD_TRY_VOID(txn.erase(tables.mentions, key_of(digest)));
  return txn.erase(tables.blob, key_of(digest));
}

}  // namespace agentd
