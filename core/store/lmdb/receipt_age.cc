// SPDX-License-Identifier: Apache-2.0
#include "core/store/lmdb/receipt_age.h"

#include <functional>
#include <optional>

namespace agentd {
namespace {

constexpr int kReceiptRowsAtOnce = 1'000;  // of one read transaction
constexpr std::size_t kKeyBytes = 24;

enum class Next { kReceipt, kConversation, kEnd };
using Visit = std::function<Next(const Ulid& conversation, const Row& row)>;

// Visits receipts in the order of their keys, as far as `visit` says.
Result<void> walk_receipts(const Env& env, MDB_dbi receipts, const Visit& visit) {
  std::string from(kIdBytes, '\0');
  for (;;) {
    AGENTD_TRY(const Txn txn, env.begin_read());
    AGENTD_TRY(Cursor cursor, Cursor::open(txn, receipts));
    AGENTD_TRY(std::optional<Row> row, cursor.at_or_after(from));
    for (int rows = 0; row && rows < kReceiptRowsAtOnce; ++rows) {
      const auto id = row->key.size() == kKeyBytes ? read_ulid(row->key.substr(0, kIdBytes)) : std::nullopt;
      const Next next = id ? visit(*id, *row) : Next::kReceipt;
      if (next == Next::kEnd) return {};
      // The least key behind the row, or behind every one of its conversation.
      from = (next == Next::kConversation ? log_key(*id, UINT64_MAX) : std::string(row->key)) + '\0';
      AGENTD_TRY(row, cursor.at_or_after(from));
    }
    if (!row) return {};
  }
}

std::optional<std::int64_t> time_of(std::string_view receipt) {
  return is_sealed_well(receipt) ? time_of_receipt(receipt) : std::nullopt;
}

bool is_old(std::string_view receipt, std::int64_t before_ms) {
  const std::optional<std::int64_t> time = time_of(receipt);
  return time && *time < before_ms;
}

}  // namespace

Result<std::vector<std::string>> old_receipts(const Env& env, MDB_dbi receipts, std::int64_t before_ms,
                                              std::uint32_t limit) {
  std::vector<std::string> out;
  AGENTD_TRY_VOID(walk_receipts(env, receipts, [&](const Ulid& conversation, const Row& row) {
    if (out.size() == limit || !began_before(conversation, before_ms)) return Next::kEnd;
    if (!is_old(row.value, before_ms)) return Next::kConversation;
    out.emplace_back(row.key);
    return Next::kReceipt;
  }));
  return out;
}

Result<std::uint64_t> erase_receipts(Txn& txn, const Tables& tables, MDB_dbi receipts,
                                     const std::vector<std::string>& keys, std::int64_t before_ms) {
  std::uint64_t erased = 0;
  for (const std::string& key : keys) {
    AGENTD_TRY(const std::optional<std::string_view> value, txn.get(receipts, key));
    // Another process may have erased it, and the conversation may have been made again.
    if (!value || !is_old(*value, before_ms)) continue;
    const std::optional<Digest> payload = payload_of_receipt(*value);
    if (payload) AGENTD_TRY_VOID(drop_blob(txn, tables, *payload));
    AGENTD_TRY_VOID(txn.erase(receipts, key));
    ++erased;
  }
  return erased;
}

Result<std::int64_t> oldest_receipt_ms(const Env& env, MDB_dbi receipts) {
  std::int64_t out = 0;
  AGENTD_TRY_VOID(walk_receipts(env, receipts, [&](const Ulid& conversation, const Row& row) {
    if (out != 0 && !began_before(conversation, out)) return Next::kEnd;
    const std::optional<std::int64_t> time = time_of(row.value);
    if (!time) return Next::kReceipt;
    if (out == 0 || *time < out) out = *time;
    return Next::kConversation;
  }));
  return out;
}

}  // namespace agentd
