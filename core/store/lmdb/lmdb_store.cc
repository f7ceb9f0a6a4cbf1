// SPDX-License-Identifier: Apache-2.0
#include "core/store/lmdb/lmdb_store.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <utility>

#include "core/base/mutex.h"
#include "core/store/lmdb/check.h"
#include "core/store/lmdb/clean_mark.h"
#include "core/store/lmdb/env.h"
#include "core/store/lmdb/home.h"
#include "core/store/lmdb/lease.h"
#include "core/store/lmdb/tables.h"
#include "core/store/log_rules.h"

namespace agentd {
namespace {

constexpr std::string_view kFormat = "format";
constexpr const char* kReceipts = "receipts";
// The most that one read transaction copies out, unless one batch is longer.
constexpr std::size_t kCopyBytes = 256 * 1024;

// The error with advice for damaged bytes of a log; a batch of a newer version is not damaged.
Error advised(Error error) {
  const bool newer = error.message.find("newer agentd") != std::string::npos;
  if (!newer && error.message.find(kDamageAdvice) == std::string::npos)
    error.message += std::string("; ") + kDamageAdvice;
  return error;
}

class LmdbStore final : public Store {
 public:
  LmdbStore(std::unique_ptr<Env> env, const Tables& tables, const Clock& clock, bool read_only)
      : env_(std::move(env)), tables_(tables), clock_(clock), read_only_(read_only) {}

  Result<std::vector<StoredRecord>> append(const Ulid& conversation, std::uint64_t expected_revision,
                                           std::span<const Record> records, std::span<const std::string> blobs,
                                           std::span<const HookReceipt> receipts) override;
  Result<void> append_receipts(const Ulid& conversation, std::span<const HookReceipt> receipts) override;
  Result<void> receipts(const Ulid& conversation, const std::function<bool(const HookReceipt&)>& visit) const override;
  Result<void> read(const Ulid& conversation, std::uint64_t first, std::uint64_t last,
                    const std::function<bool(const StoredRecord&)>& visit) const override;
  Result<ConversationInfo> fork(const Ulid& from, std::uint64_t at, GenesisRecord genesis,
                                std::string_view title) override;
  Result<Digest> chain(const Ulid& conversation, std::uint64_t at) const override;
  Result<void> verify(const Ulid& conversation, const std::function<void(const VerifiedBatch&)>& visit) const override;
  Result<ConversationInfo> info(const Ulid& conversation) const override;
  Result<std::vector<ConversationInfo>> list(const ConversationQuery& query) const override;
  Result<void> remove(const Ulid& conversation) override;
  Result<std::string> blob(const Digest& digest) const override;
  Result<std::unique_ptr<Lease>> lease(const Ulid& conversation) override;
  Result<StoredKey> get_key(std::string_view space, std::string_view key) const override;
  Result<std::vector<StoredKey>> scan_keys(std::string_view space, std::string_view prefix, std::string_view after,
                                           std::uint32_t limit) const override;
  Result<std::uint64_t> commit_keys(std::string_view space, std::span<const KeyOp> ops) override;
  Result<Changes> changes(std::uint64_t cursor, std::uint32_t limit) const override;
  Result<StoreStats> stats() const override;

 private:
  class Source;
  // nullopt: the conversation does not exist.
  Result<std::optional<HeadRow>> head_in(const Txn& txn, const Ulid& conversation) const;
  Result<LogHead> head(const Ulid& conversation) const;
  Result<ConversationInfo> info_in(const Txn& txn, std::string_view conversation) const;
  Result<void> append_in(Txn& txn, const Ulid& conversation, PreparedAppend& append) const;
  Result<void> fork_in(Txn& txn, const Ulid& from, const Ulid& to, const PreparedFork& fork) const;
  Result<std::optional<MDB_dbi>> receipts_table(bool create) const;
  Result<void> append_receipts_in(Txn& txn, MDB_dbi table, const Ulid& conversation,
                                  const std::vector<PreparedReceipt>& receipts) const;
  Result<std::vector<std::string>> copy_receipts(MDB_dbi table, const Ulid& conversation, std::string& from) const;
  Result<void> remove_in(Txn& txn, const Ulid& conversation, std::optional<MDB_dbi> receipts) const;
  Result<void> remove_batches(Txn& txn, const Ulid& conversation) const;
  Result<void> remove_receipts(Txn& txn, MDB_dbi table, const Ulid& conversation) const;
  Result<void> put_keys(Txn& txn, std::string_view space, const KeyChanges& changes, std::uint64_t version) const;
  Result<std::uint64_t> bytes_held(const Txn& txn, std::string_view space, std::uint64_t version) const;
  Result<void> put_bytes_held(Txn& txn, std::string_view space, std::uint64_t version, std::uint64_t bytes) const;
  // Reports a conversation that was removed while its log was read as missing, not as broken.
  Result<void> unless_removed(const Ulid& conversation, Result<void> result) const;

  const std::unique_ptr<Env> env_;
  const Tables tables_;
  const Clock& clock_;
  const bool read_only_;
  mutable Mutex receipts_mutex_;
  mutable std::optional<MDB_dbi> receipts_ GUARDED_BY(receipts_mutex_);
};

// ---- reading a log

class LmdbStore::Source final : public BatchSource {
 public:
  Source(const LmdbStore& store, const Ulid& conversation) : store_(store), conversation_(conversation) {}

  Result<std::vector<std::string>> batches(std::uint64_t seq) const override {
    AGENTD_TRY(const Txn txn, store_.env_->begin_read());
    AGENTD_TRY(Cursor cursor, Cursor::open(txn, store_.tables_.log));
    // The batch with `seq` is the last one that starts before seq + 1.
    AGENTD_TRY(std::optional<Row> row, cursor.before(log_key(conversation_, seq + 1)));
    std::vector<std::string> out;
    std::size_t bytes = 0;
    while (row && row->key.starts_with(key_of(conversation_)) &&
           (out.empty() || bytes + row->value.size() <= kCopyBytes)) {
      bytes += out.emplace_back(row->value).size();
      AGENTD_TRY(row, cursor.next());
    }
    return out;
  }

  Result<std::string> blob(const Digest& digest) const override { return store_.blob(digest); }

 private:
  const LmdbStore& store_;
  const Ulid conversation_;
};

Result<std::optional<HeadRow>> LmdbStore::head_in(const Txn& txn, const Ulid& conversation) const {
  AGENTD_TRY(const std::optional<std::string_view> value, txn.get(tables_.head, key_of(conversation)));
  if (!value) return std::optional<HeadRow>{};
  AGENTD_TRY(const HeadRow row, read_head(*value));
  return std::optional(row);
}

Result<LogHead> LmdbStore::head(const Ulid& conversation) const {
  AGENTD_TRY(const Txn txn, env_->begin_read());
  AGENTD_TRY(const std::optional<HeadRow> row, head_in(txn, conversation));
  if (!row) return no_such_conversation(conversation);
  return row->head;
}

Result<void> LmdbStore::unless_removed(const Ulid& conversation, Result<void> result) const {
  if (result || result.error().code != Code::kCorrupt) return result;
  if (auto now = head(conversation); !now && now.error().code == Code::kNotFound) return now.error();
  return advised(result.error());
}

Result<void> LmdbStore::read(const Ulid& conversation, std::uint64_t first, std::uint64_t last,
                             const std::function<bool(const StoredRecord&)>& visit) const {
  AGENTD_TRY(const LogHead at, head(conversation));
  const Source source(*this, conversation);
  return unless_removed(conversation, read_log(source, conversation, at, first, last, visit));
}

Result<void> LmdbStore::verify(const Ulid& conversation, const std::function<void(const VerifiedBatch&)>& visit) const {
  AGENTD_TRY(const LogHead at, head(conversation));
  const Source source(*this, conversation);
  return unless_removed(conversation, verify_log(source, conversation, at, visit));
}

Result<std::string> LmdbStore::blob(const Digest& digest) const {
  AGENTD_TRY(const Txn txn, env_->begin_read());
  AGENTD_TRY(const std::optional<std::string_view> value, txn.get(tables_.blob, key_of(digest)));
  if (!value) return no_such_blob(digest);
  return std::string(*value);
}

// ---- appending and removing

Result<void> LmdbStore::append_in(Txn& txn, const Ulid& conversation, PreparedAppend& append) const {
  const std::uint64_t expected = append.batch.first_seq - 1;
  AGENTD_TRY(const std::optional<HeadRow> found, head_in(txn, conversation));
  const HeadRow row = found.value_or(HeadRow{});
  if (row.head.revision != expected) return stale_revision(conversation, row.head.revision, expected);
  ConversationInfo info;
  if (found) {
    AGENTD_TRY(info, info_in(txn, key_of(conversation)));
  }
  AGENTD_TRY_VOID(fold_all(info, append.stored));
  append.batch.previous = row.head.chain;
  for (const auto& [digest, bytes] : append.blobs) AGENTD_TRY_VOID(add_blob(txn, tables_, digest, bytes));
  AGENTD_TRY_VOID(txn.put(tables_.log, log_key(conversation, append.batch.first_seq), encode_batch(append.batch)));
  HeadRow next;
  next.head = {append.batch.last_seq(), chain_of(append.batch)};
  AGENTD_TRY(next.cursor, push_change(txn, tables_, conversation, row.cursor));
  AGENTD_TRY_VOID(txn.put(tables_.head, key_of(conversation), write_head(next)));
  return txn.put(tables_.info, key_of(conversation), sealed(write_info(info)));
}

Result<std::vector<StoredRecord>> LmdbStore::append(const Ulid& conversation, std::uint64_t expected_revision,
                                                    std::span<const Record> records, std::span<const std::string> blobs,
                                                    std::span<const HookReceipt> receipts) {
  AGENTD_TRY(PreparedAppend append, prepare_append(conversation, expected_revision, records, blobs, clock_.wall_ms()));
  AGENTD_TRY(const std::vector<PreparedReceipt> answers, prepare_receipts(receipts));
  std::optional<MDB_dbi> table;
  if (!answers.empty()) {
    AGENTD_TRY(table, receipts_table(true));
  }
  const auto change = [&](Txn& txn) -> Result<void> {
    AGENTD_TRY_VOID(append_in(txn, conversation, append));
    return table ? append_receipts_in(txn, *table, conversation, answers) : Result<void>();
  };
  AGENTD_TRY_VOID(env_->write(Env::Room::kOrdinary, change));
  return std::move(append.stored);
}

// ---- forks

// Reading and hashing come before the transaction: a log does not change up to a sequence unless the conversation is
// removed.
Result<ConversationInfo> LmdbStore::fork(const Ulid& from, std::uint64_t at, GenesisRecord genesis,
                                         std::string_view title) {
  AGENTD_TRY(const Ulid to, Ulid::parse(genesis.conversation_id));
  AGENTD_TRY(const LogHead parent, head(from));
  auto fork = prepare_fork(Source(*this, from), from, parent, at, std::move(genesis), title, clock_.wall_ms());
  if (!fork) {
    AGENTD_TRY_VOID(unless_removed(from, fork.error()));
    return fork.error();
  }
  AGENTD_TRY_VOID(env_->write(Env::Room::kOrdinary, [&](Txn& txn) { return fork_in(txn, from, to, *fork); }));
  return std::move(fork->info);
}

Result<void> LmdbStore::fork_in(Txn& txn, const Ulid& from, const Ulid& to, const PreparedFork& fork) const {
  AGENTD_TRY(const std::optional<HeadRow> parent, head_in(txn, from));
  if (!parent) return no_such_conversation(from);
  AGENTD_TRY(const std::optional<HeadRow> there, head_in(txn, to));
  if (there) return stale_revision(to, there->head.revision, 0);
  for (const auto& [digest, count] : fork.mentions) {
    AGENTD_TRY(const bool shared, share_blob(txn, tables_, digest, count));
    if (!shared) return lost_blob(from);
  }
  for (const auto& [first, bytes] : fork.batches) AGENTD_TRY_VOID(txn.put(tables_.log, log_key(to, first), bytes));
  HeadRow row;
  row.head = fork.head;
  AGENTD_TRY(row.cursor, push_change(txn, tables_, to, 0));
  AGENTD_TRY_VOID(txn.put(tables_.head, key_of(to), write_head(row)));
  return txn.put(tables_.info, key_of(to), sealed(write_info(fork.info)));
}

Result<Digest> LmdbStore::chain(const Ulid& conversation, std::uint64_t at) const {
  AGENTD_TRY(const LogHead now, head(conversation));
  return chain_at(Source(*this, conversation), conversation, now, at);
}

// ---- receipts

// The process that writes the first receipt makes the table; a store without receipts has none. LMDB requires that one
// thread at a time opens tables, and that no older transaction uses the new handle.
Result<std::optional<MDB_dbi>> LmdbStore::receipts_table(bool create) const {
  const MutexLock lock(receipts_mutex_);
  if (receipts_) return receipts_;
  {
    AGENTD_TRY(Txn txn, env_->begin_read());
    auto found = txn.open_table(kReceipts, false);
    if (found) {
      AGENTD_TRY_VOID(txn.keep_tables());
      receipts_ = *found;
      return receipts_;
    }
    if (found.error().code != Code::kNotFound) return found.error();
  }
  if (!create) return std::optional<MDB_dbi>{};
  MDB_dbi made = 0;
  const auto change = [&](Txn& txn) -> Result<void> {
    AGENTD_TRY(made, txn.open_table(kReceipts, true));
    return {};
  };
  AGENTD_TRY_VOID(env_->write(Env::Room::kOrdinary, change));
  receipts_ = made;
  return receipts_;
}

Result<void> LmdbStore::append_receipts_in(Txn& txn, MDB_dbi table, const Ulid& conversation,
                                           const std::vector<PreparedReceipt>& receipts) const {
  std::uint64_t last = 0;
  {
    AGENTD_TRY(Cursor cursor, Cursor::open(txn, table));
    AGENTD_TRY(const std::optional<Row> row, cursor.before(log_key(conversation, UINT64_MAX)));
    if (row && row->key.starts_with(key_of(conversation))) {
      AGENTD_TRY(last, read_number(row->key.substr(key_of(conversation).size())));
    }
  }
  for (const PreparedReceipt& receipt : receipts) {
    if (receipt.payload) AGENTD_TRY_VOID(add_blob(txn, tables_, receipt.payload->first, receipt.payload->second));
    AGENTD_TRY_VOID(txn.put(table, log_key(conversation, ++last), sealed(receipt.json)));
  }
  return {};
}

Result<void> LmdbStore::append_receipts(const Ulid& conversation, std::span<const HookReceipt> receipts) {
  AGENTD_TRY(const std::vector<PreparedReceipt> answers, prepare_receipts(receipts));
  AGENTD_TRY_VOID(head(conversation));
  if (answers.empty()) return {};
  AGENTD_TRY(const std::optional<MDB_dbi> table, receipts_table(true));
  return env_->write(Env::Room::kOrdinary, [&](Txn& txn) -> Result<void> {
    AGENTD_TRY(const std::optional<HeadRow> row, head_in(txn, conversation));
    if (!row) return no_such_conversation(conversation);
    return append_receipts_in(txn, *table, conversation, answers);
  });
}

// Some receipts from the key `from` on, which becomes the next key.
Result<std::vector<std::string>> LmdbStore::copy_receipts(MDB_dbi table, const Ulid& conversation,
                                                          std::string& from) const {
  std::vector<std::string> out;
  std::size_t bytes = 0;
  AGENTD_TRY(const Txn txn, env_->begin_read());
  AGENTD_TRY(Cursor cursor, Cursor::open(txn, table));
  AGENTD_TRY(std::optional<Row> row, cursor.at_or_after(from));
  while (row && row->key.starts_with(key_of(conversation)) && bytes < kCopyBytes) {
    bytes += out.emplace_back(row->value).size();
    from = std::string(row->key) + '\0';
    AGENTD_TRY(row, cursor.next());
  }
  return out;
}

Result<void> LmdbStore::receipts(const Ulid& conversation, const std::function<bool(const HookReceipt&)>& visit) const {
  AGENTD_TRY_VOID(head(conversation));
  AGENTD_TRY(const std::optional<MDB_dbi> table, receipts_table(false));
  if (!table) return {};
  std::string from(key_of(conversation));
  for (;;) {
    AGENTD_TRY(const std::vector<std::string> texts, copy_receipts(*table, conversation, from));
    if (texts.empty()) return {};
    for (const std::string& text : texts) {
      if (!is_sealed_well(text))
        return Error{Code::kCorrupt, "a receipt of conversation " + conversation.text() +
                                         " does not match its checksum; " + kDamageAdvice};
      AGENTD_TRY(const HookReceipt receipt, read_receipt(text));
      if (!visit(receipt)) return {};
    }
  }
}

Result<void> LmdbStore::remove_receipts(Txn& txn, MDB_dbi table, const Ulid& conversation) const {
  for (;;) {
    std::string key;
    std::optional<Digest> payload;
    {
      AGENTD_TRY(Cursor cursor, Cursor::open(txn, table));
      AGENTD_TRY(const std::optional<Row> row, cursor.at_or_after(key_of(conversation)));
      if (!row || !row->key.starts_with(key_of(conversation))) return {};
      key = row->key;
      payload = payload_of_receipt(row->value);
    }
    if (payload) AGENTD_TRY_VOID(drop_blob(txn, tables_, *payload));
    AGENTD_TRY_VOID(txn.erase(table, key));
  }
}

Result<void> LmdbStore::remove_batches(Txn& txn, const Ulid& conversation) const {
  for (;;) {
    std::string key;
    Batch batch;
    {
      AGENTD_TRY(Cursor cursor, Cursor::open(txn, tables_.log));
      AGENTD_TRY(const std::optional<Row> row, cursor.at_or_after(key_of(conversation)));
      if (!row || !row->key.starts_with(key_of(conversation))) return {};
      key = row->key;
      // A broken batch can be removed too; its blobs stay.
      if (auto decoded = decode_batch(row->value); decoded) batch = std::move(*decoded);
    }
    for (const BatchRecord& record : batch.records)
      if (record.in_blob()) AGENTD_TRY_VOID(drop_blob(txn, tables_, record.digest));
    for (const Digest& digest : batch.attached) AGENTD_TRY_VOID(drop_blob(txn, tables_, digest));
    AGENTD_TRY_VOID(txn.erase(tables_.log, key));
  }
}

Result<void> LmdbStore::remove_in(Txn& txn, const Ulid& conversation, std::optional<MDB_dbi> receipts) const {
  AGENTD_TRY(const std::optional<HeadRow> row, head_in(txn, conversation));
  if (!row) return no_such_conversation(conversation);
  AGENTD_TRY_VOID(remove_batches(txn, conversation));
  if (receipts) AGENTD_TRY_VOID(remove_receipts(txn, *receipts, conversation));
  AGENTD_TRY_VOID(remove_change(txn, tables_, row->cursor));
  AGENTD_TRY_VOID(txn.erase(tables_.head, key_of(conversation)));
  return txn.erase(tables_.info, key_of(conversation));
}

Result<void> LmdbStore::remove(const Ulid& conversation) {
  AGENTD_TRY(const std::unique_ptr<Lease> held, lease(conversation));
  AGENTD_TRY(const std::optional<MDB_dbi> receipts, receipts_table(false));
  return env_->write(Env::Room::kReserve, [&](Txn& txn) { return remove_in(txn, conversation, receipts); });
}

Result<std::unique_ptr<Lease>> LmdbStore::lease(const Ulid& conversation) {
  if (read_only_) return Error{Code::kDenied, "the store " + env_->directory() + " was opened read-only"};
  return take_lease(env_->directory(), conversation);
}

// ---- the index

Result<ConversationInfo> LmdbStore::info_in(const Txn& txn, std::string_view conversation) const {
  AGENTD_TRY(const std::optional<std::string_view> value, txn.get(tables_.info, conversation));
  if (!value) return Error{Code::kCorrupt, "a conversation is missing from the index of the store"};
  if (!is_sealed_well(*value))
    return Error{Code::kCorrupt, "the index row of a conversation in the store " + env_->directory() +
                                     " does not match its checksum; " + kDamageAdvice};
  return read_info(*value);
}

Result<ConversationInfo> LmdbStore::info(const Ulid& conversation) const {
  AGENTD_TRY(const Txn txn, env_->begin_read());
  AGENTD_TRY(const std::optional<HeadRow> row, head_in(txn, conversation));
  if (!row) return no_such_conversation(conversation);
  return info_in(txn, key_of(conversation));
}

// The change table, read backwards, has the newest update first, so that a short list reads few rows.
Result<std::vector<ConversationInfo>> LmdbStore::list(const ConversationQuery& query) const {
  AGENTD_TRY(const Txn txn, env_->begin_read());
  AGENTD_TRY(Cursor cursor, Cursor::open(txn, tables_.changes));
  std::optional<Row> row;
  if (query.after.empty()) {
    AGENTD_TRY(row, cursor.last());
  } else {
    AGENTD_TRY(const Ulid after, Ulid::parse(query.after));
    AGENTD_TRY(const std::optional<HeadRow> at, head_in(txn, after));
    if (!at) return no_such_conversation(after);
    AGENTD_TRY(row, cursor.before(number(at->cursor)));
  }
  std::vector<ConversationInfo> out;
  while (row && out.size() < limit_or_default(query.limit)) {
    AGENTD_TRY(ConversationInfo info, info_in(txn, row->value));
    if (matches(info, query)) out.push_back(std::move(info));
    AGENTD_TRY(row, cursor.previous());
  }
  return out;
}

Result<Store::Changes> LmdbStore::changes(std::uint64_t cursor, std::uint32_t limit) const {
  Changes out{{}, cursor};
  if (cursor == UINT64_MAX) return out;
  AGENTD_TRY(const Txn txn, env_->begin_read());
  AGENTD_TRY(Cursor rows, Cursor::open(txn, tables_.changes));
  AGENTD_TRY(std::optional<Row> row, rows.at_or_after(number(cursor + 1)));
  while (row && out.changed.size() < limit_or_default(limit)) {
    AGENTD_TRY(out.next, read_number(row->key));
    AGENTD_TRY(ConversationInfo info, info_in(txn, row->value));
    out.changed.push_back(std::move(info));
    AGENTD_TRY(row, rows.next());
  }
  return out;
}

Result<StoreStats> LmdbStore::stats() const {
  StoreStats out;
  {
    AGENTD_TRY(const Txn txn, env_->begin_read());
    AGENTD_TRY(out.conversations, txn.count(tables_.head));
    AGENTD_TRY(const std::uint64_t format, number_at(txn, tables_.meta, kFormat));
    out.format = static_cast<std::uint32_t>(format);
  }
  out.path = env_->directory();
  out.bytes = env_->file_bytes();
  out.map_bytes = env_->map_bytes();
  return out;
}

// ---- keys

Result<StoredKey> read_key(std::string_view key, std::string_view value) {
  if (value.size() < 8) return Error{Code::kCorrupt, "a plugin's key has no version"};
  AGENTD_TRY(const std::uint64_t version, read_number(value.substr(0, 8)));
  return StoredKey{std::string(key), std::string(value.substr(8)), version};
}

Result<StoredKey> LmdbStore::get_key(std::string_view space, std::string_view key) const {
  AGENTD_TRY_VOID(check_key(space, key));
  AGENTD_TRY(const Txn txn, env_->begin_read());
  AGENTD_TRY(const std::optional<std::string_view> value, txn.get(tables_.keys, space_key(space, key)));
  if (!value) return no_such_key(space, key);
  return read_key(key, *value);
}

Result<std::vector<StoredKey>> LmdbStore::scan_keys(std::string_view space, std::string_view prefix,
                                                    std::string_view after, std::uint32_t limit) const {
  AGENTD_TRY_VOID(check_key(space, "k"));
  std::vector<StoredKey> out;
  // No key is as long as either, and LMDB cannot search for longer ones.
  if (space.size() + prefix.size() > kSpaceAndKeyBytesMax) return out;
  if (space.size() + after.size() > kSpaceAndKeyBytesMax)
    return Error{Code::kInvalid, "the key to continue after is too long"};
  const bool go_on = !after.empty() && after >= prefix;
  const std::string start = space_key(space, go_on ? after : prefix);
  const std::string wanted = space_key(space, prefix);
  AGENTD_TRY(const Txn txn, env_->begin_read());
  AGENTD_TRY(Cursor cursor, Cursor::open(txn, tables_.keys));
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

Result<void> LmdbStore::put_keys(Txn& txn, std::string_view space, const KeyChanges& changes,
                                 std::uint64_t version) const {
  for (const auto& [key, value] : changes) {
    const std::string name = space_key(space, key);
    AGENTD_TRY_VOID(value ? txn.put(tables_.keys, name, number(version).append(*value))
                          : txn.erase(tables_.keys, name));
  }
  // The counter of the space outlives its keys, so that a version is never reused.
  return txn.put(tables_.keys, space, number(version));
}

// The store's own space with the bytes of each space and the version that they belong to.
constexpr std::string_view kBytesSpace = "agentd.key_bytes";
constexpr std::uint64_t kBytesVersion = 1;  // of each key there
constexpr std::size_t kNumberBytes = 8;

// Bytes of keys and values. They are recounted after an older agentd, which does not count, changed them.
Result<std::uint64_t> LmdbStore::bytes_held(const Txn& txn, std::string_view space, std::uint64_t version) const {
  if (kBytesSpace.size() + space.size() <= kSpaceAndKeyBytesMax) {
    AGENTD_TRY(const auto counted, txn.get(tables_.keys, space_key(kBytesSpace, space)));
    if (counted && counted->size() == 3 * kNumberBytes) {
      AGENTD_TRY(const std::uint64_t then, read_number(counted->substr(kNumberBytes, kNumberBytes)));
      if (then == version) return read_number(counted->substr(2 * kNumberBytes));
    }
  }
  const std::string wanted = space_key(space, "");
  std::uint64_t out = 0;
  AGENTD_TRY(Cursor cursor, Cursor::open(txn, tables_.keys));
  AGENTD_TRY(std::optional<Row> row, cursor.at_or_after(wanted));
  while (row && row->key.starts_with(wanted)) {
    out += row->key.size() - wanted.size() + row->value.size() - kNumberBytes;
    AGENTD_TRY(row, cursor.next());
  }
  return out;
}

Result<void> LmdbStore::put_bytes_held(Txn& txn, std::string_view space, std::uint64_t version,
                                       std::uint64_t bytes) const {
  if (kBytesSpace.size() + space.size() > kSpaceAndKeyBytesMax) return {};
  const std::string counted = number(kBytesVersion).append(number(version)).append(number(bytes));
  AGENTD_TRY_VOID(txn.put(tables_.keys, space_key(kBytesSpace, space), counted));
  return txn.put(tables_.keys, kBytesSpace, number(kBytesVersion));
}

Result<std::uint64_t> LmdbStore::commit_keys(std::string_view space, std::span<const KeyOp> ops) {
  AGENTD_TRY_VOID(check_key(space, "k"));
  std::uint64_t version = 0;
  const auto change = [&](Txn& txn) -> Result<void> {
    const auto version_of = [&](std::string_view key) -> Result<std::uint64_t> {
      AGENTD_TRY(const auto value, txn.get(tables_.keys, space_key(space, key)));
      if (!value) return KeyOp::kAbsent;
      return read_number(value->substr(0, 8));
    };
    AGENTD_TRY(const KeyChanges changes, plan_keys(space, ops, version_of));
    AGENTD_TRY(version, number_at(txn, tables_.keys, space));
    if (changes.empty()) return {};
    const auto bytes_of = [&](std::string_view key) -> Result<std::uint64_t> {
      AGENTD_TRY(const auto value, txn.get(tables_.keys, space_key(space, key)));
      return value ? key.size() + value->size() - kNumberBytes : 0;
    };
    AGENTD_TRY(const std::uint64_t held, bytes_held(txn, space, version));
    AGENTD_TRY(const std::uint64_t bytes, plan_bytes(space, changes, held, bytes_of));
    ++version;
    AGENTD_TRY_VOID(put_bytes_held(txn, space, version, bytes));
    return put_keys(txn, space, changes, version);
  };
  AGENTD_TRY_VOID(env_->write(Env::Room::kOrdinary, change));
  return version;
}

// ---- opening

Error newer_format(const std::string& directory, std::uint64_t format) {
  return {Code::kInvalid, "store " + directory + " was written by a newer agentd (format " + std::to_string(format) +
                              ", this one reads up to " + std::to_string(kStoreFormat) + "): update agentd"};
}

Result<void> check_format(const Txn& txn, const Tables& tables, const std::string& directory) {
  AGENTD_TRY(const std::uint64_t format, number_at(txn, tables.meta, kFormat));
  if (format > kStoreFormat) return newer_format(directory, format);
  if (format == 0) return Error{Code::kCorrupt, "the store " + directory + " does not name its format"};
  return {};
}

// A newer store may lack tables that this agentd knows, so its format is checked before the others are opened.
Result<Tables> find_tables(Txn& txn, const std::string& directory) {
  Tables only_meta;
  auto meta = txn.open_table("meta", false);
  if (!meta && meta.error().code == Code::kNotFound) {
    return Error{Code::kCorrupt, "the store " + directory +
                                     " contains a database that agentd did not write: choose another "
                                     "directory"};
  }
  AGENTD_TRY(only_meta.meta, std::move(meta));
  AGENTD_TRY_VOID(check_format(txn, only_meta, directory));
  return Tables::open(txn, false);
}

Result<Tables> existing_tables(Env& env) {
  AGENTD_TRY(Txn txn, env.begin_read());
  AGENTD_TRY(const Tables tables, find_tables(txn, env.directory()));
  AGENTD_TRY_VOID(txn.keep_tables());
  return tables;
}

Result<void> create_tables(Env& env) {
  return env.write(Env::Room::kOrdinary, [](Txn& txn) -> Result<void> {
    AGENTD_TRY(const Tables tables, Tables::open(txn, true));
    return txn.put(tables.meta, kFormat, number(kStoreFormat));
  });
}

// Renames the file unless the name exists. Of several processes the first one succeeds, and the others accept its file.
Result<void> publish(const std::string& from, const std::string& to) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return {};
  if (errno == EINVAL && ::link(from.c_str(), to.c_str()) == 0)
    return {};  // not every file system has RENAME_NOREPLACE
  if (errno == EEXIST) return {};
  return errno_error("creating the store " + to, errno);
}

// A new store is made beside its place and moved there complete: a data.mdb without content is never a new store, but
// one that lost it.
Result<void> create_store(const LmdbOptions& options, const Clock& clock) {
  LmdbOptions beside = options;
  beside.directory = options.directory + "/new-XXXXXX";
  if (::mkdtemp(beside.directory.data()) == nullptr)
    return errno_error("creating the store " + options.directory, errno);
  const auto make = [&]() -> Result<void> {
    {
      AGENTD_TRY(const auto env, Env::open(beside, clock, true));
      AGENTD_TRY_VOID(create_tables(*env));
    }
    AGENTD_TRY_VOID(publish(beside.directory + "/data.mdb", options.directory + "/data.mdb"));
    return sync_directory(options.directory);
  };
  Result<void> made = make();
  std::error_code ignored;
  std::filesystem::remove_all(beside.directory, ignored);
  if (const auto state = file_state(options.directory); made && state) mark_clean(options.directory, *state);
  return made;
}

Result<void> look_first(const LmdbOptions& options) {
  const std::string& directory = options.directory;
  if (is_marked_clean(directory) || is_open_somewhere(directory)) return {};
  const auto state = file_state(directory);
  const auto look = [&] { return look_at_pages(directory); };
  Result<void> looked = options.apart ? options.apart(look) : look();
  if (!looked && looked.error().code == Code::kCorrupt)
    return Error{Code::kCorrupt,
                 "the store " + directory + " is damaged: " + looked.error().message + "; " + kDamageAdvice};
  if (looked && state && !options.read_only) mark_clean(directory, *state);
  return looked;
}

}  // namespace

bool opens_unchecked(const std::string& directory) {
  return ::access((directory + "/data.mdb").c_str(), F_OK) != 0 || is_marked_clean(directory) ||
         is_open_somewhere(directory);
}

Result<std::unique_ptr<Store>> open_lmdb_store(const LmdbOptions& options, const Clock& clock) {
  AGENTD_TRY(const HomeState state, prepare_home(options));
  if (state == HomeState::kEmpty)
    AGENTD_TRY_VOID(create_store(options, clock));
  else
    AGENTD_TRY_VOID(look_first(options));
  AGENTD_TRY(std::unique_ptr<Env> env, Env::open(options, clock, false));
  AGENTD_TRY(const Tables tables, existing_tables(*env));
  return std::unique_ptr<Store>(std::make_unique<LmdbStore>(std::move(env), tables, clock, options.read_only));
}

}  // namespace agentd
