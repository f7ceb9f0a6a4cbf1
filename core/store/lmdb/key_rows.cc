// SPDX-License-Identifier: Apache-2.0
#include "core/store/lmdb/key_rows.h"

#include <optional>
#include <utility>

#include "core/store/log_rules.h"

namespace agentd {
namespace {

// The store's own space with the bytes of each space and the version that they belong to.
constexpr std::string_view kBytesSpace = "agentd.key_bytes";
constexpr std::uint64_t kBytesVersion = 1;  // of each key there
constexpr std::size_t kNumberBytes = 8;

Result<StoredKey> read_key(std::string_view key, std::string_view value) {
  if (value.size() < 8) return Error{Code::kCorrupt, "a plugin's key has no version"};
  AGENTD_TRY(const std::uint64_t version, read_number(value.substr(0, 8)));
  return StoredKey{std::string(key), std::string(value.substr(8)), version};
}

Result<void> put_keys(Txn& txn, const Tables& tables, std::string_view space, const KeyChanges& changes,
                      std::uint64_t version) {
  for (const auto& [key, value] : changes) {
    const std::string name = space_key(space, key);
    AGENTD_TRY_VOID(value ? txn.put(tables.keys, name, number(version).append(*value)) : txn.erase(tables.keys, name));
  }
  // The counter of the space outlives its keys, so that a version is never reused.
  return txn.put(tables.keys, space, number(version));
}

// Bytes of keys and values. They are recounted after an older agentd, which does not count, changed them.
Result<std::uint64_t> bytes_held(const Txn& txn, const Tables& tables, std::string_view space, std::uint64_t version) {
  if (kBytesSpace.size() + space.size() <= kSpaceAndKeyBytesMax) {
    AGENTD_TRY(const auto counted, txn.get(tables.keys, space_key(kBytesSpace, space)));
    if (counted && counted->size() == 3 * kNumberBytes) {
      AGENTD_TRY(const std::uint64_t then, read_number(counted->substr(kNumberBytes, kNumberBytes)));
      if (then == version) return read_number(counted->substr(2 * kNumberBytes));
    }
  }
  const std::string wanted = space_key(space, "");
  std::uint64_t out = 0;
  AGENTD_TRY(Cursor cursor, Cursor::open(txn, tables.keys));
  AGENTD_TRY(std::optional<Row> row, cursor.at_or_after(wanted));
  while (row && row->key.starts_with(wanted)) {
    out += row->key.size() - wanted.size() + row->value.size() - kNumberBytes;
    AGENTD_TRY(row, cursor.next());
  }
  return out;
}

Result<void> put_bytes_held(Txn& txn, const Tables& tables, std::string_view space, std::uint64_t version,
                            std::uint64_t bytes) {
  if (kBytesSpace.size() + space.size() > kSpaceAndKeyBytesMax) return {};
  const std::string counted = number(kBytesVersion).append(number(version)).append(number(bytes));
  AGENTD_TRY_VOID(txn.put(tables.keys, space_key(kBytesSpace, space), counted));
  return txn.put(tables.keys, kBytesSpace, number(kBytesVersion));
}

}  // namespace

// The counter of a space stands before its keys, under its name.
Result<std::vector<std::string>> key_spaces_in(const Txn& txn, const Tables& tables) {
  std::vector<std::string> out;
  AGENTD_TRY(Cursor cursor, Cursor::open(txn, tables.keys));
  AGENTD_TRY(std::optional<Row> row, cursor.at_or_after(std::string(1, '\0')));
  while (row) {
    out.emplace_back(row->key.substr(0, row->key.find('\0')));
    AGENTD_TRY(row, cursor.at_or_after(out.back() + '\1'));
  }
  return out;
}

Result<StoredKey> key_in(const Txn& txn, const Tables& tables, std::string_view space, std::string_view key) {
  AGENTD_TRY(const std::optional<std::string_view> value, txn.get(tables.keys, space_key(space, key)));
  if (!value) return no_such_key(space, key);
  return read_key(key, *value);
}

Result<std::vector<StoredKey>> keys_in(const Txn& txn, const Tables& tables, std::string_view space,
                                       std::string_view prefix, std::string_view after, std::uint32_t limit) {
  std::vector<StoredKey> out;
  // No key is as long as either, and LMDB cannot search for longer ones.
  if (space.size() + prefix.size() > kSpaceAndKeyBytesMax) return out;
  if (space.size() + after.size() > kSpaceAndKeyBytesMax)
    return Error{Code::kInvalid, "the key to continue after is too long"};
  const bool go_on = !after.empty() && after >= prefix;
  const std::string start = space_key(space, go_on ? after : prefix);
  const std::string wanted = space_key(space, prefix);
  AGENTD_TRY(Cursor cursor, Cursor::open(txn, tables.keys));
  AGENTD_TRY(std::optional<Row> row, cursor.at_or_after(start));
  if (go_on && row && row->key == start) {
    AGENTD_TRY(row, cursor.next());
  }
  while (row && row->key.starts_with(wanted) && out.size() < limit_or_default(limit)) {
    AGENTD_TRY(StoredKey key, read_key(row->key.substr(space.size() + 1), row->value));
    out.push_back(std::move(key));
    AGENTD_TRY(row, cursor.next());
  }
  return out;
}

Result<std::uint64_t> commit_keys_in(Txn& txn, const Tables& tables, std::string_view space,
                                     std::span<const KeyOp> ops) {
  const auto version_of = [&](std::string_view key) -> Result<std::uint64_t> {
    AGENTD_TRY(const auto value, txn.get(tables.keys, space_key(space, key)));
    if (!value) return KeyOp::kAbsent;
    return read_number(value->substr(0, 8));
  };
  AGENTD_TRY(const KeyChanges changes, plan_keys(space, ops, version_of));
  AGENTD_TRY(std::uint64_t version, number_at(txn, tables.keys, space));
  if (changes.empty()) return version;
  const auto bytes_of = [&](std::string_view key) -> Result<std::uint64_t> {
    AGENTD_TRY(const auto value, txn.get(tables.keys, space_key(space, key)));
    return value ? key.size() + value->size() - kNumberBytes : 0;
  };
  AGENTD_TRY(const std::uint64_t held, bytes_held(txn, tables, space, version));
  AGENTD_TRY(const std::uint64_t bytes, plan_bytes(space, changes, held, bytes_of));
  ++version;
  AGENTD_TRY_VOID(put_bytes_held(txn, tables, space, version, bytes));
  AGENTD_TRY_VOID(put_keys(txn, tables, space, changes, version));
  return version;
}

}  // namespace agentd
