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
#include "core/store/erase_rules.h"
#include "core/store/lmdb/check.h"
#include "core/store/lmdb/clean_mark.h"
#include "core/store/lmdb/commits.h"
#include "core/store/lmdb/env.h"
#include "core/store/lmdb/home.h"
#include "core/store/lmdb/key_rows.h"
#include "core/store/lmdb/known_heads.h"
#include "core/store/lmdb/lease.h"
#include "core/store/lmdb/lists.h"
#include "core/store/lmdb/log_rows.h"
#include "core/store/lmdb/project_index.h"
#include "core/store/lmdb/receipt_age.h"
#include "core/store/lmdb/removals.h"
#include "core/store/lmdb/tables.h"
#include "core/store/lmdb/wipe.h"
#include "core/store/log_rules.h"
#include "core/store/whole_log.h"

namespace agentd {
namespace {

constexpr std::string_view kFormat = "format";
// The most that one read transaction copies out, unless one batch is longer.
constexpr std::size_t kCopyBytes = 256 * 1024;

// The rows of one append, encoded for the log's end that it follows.
struct EncodedAppend {
  LogHead before;
  KnownHead after;
  std::string key, batch, info;
  std::string project_keys;  // as of ProjectIndex::keys_of()
};

Result<EncodedAppend> encode_append(const Ulid& conversation, PreparedAppend& append, KnownHead follows) {
  EncodedAppend out;
  out.before = follows.head;
  append.batch.previous = follows.head.chain;
  AGENTD_TRY_VOID(fold_all(follows.info, append.stored));
  out.after = {{append.batch.last_seq(), chain_of(append.batch)}, std::move(follows.info)};
  out.key = log_key(conversation, append.batch.first_seq);
  out.batch = encode_batch(append.batch);
  out.info = sealed(write_info(out.after.info));
  out.project_keys = ProjectIndex::keys_of(out.after.info.project_id);
  return out;
}

// Roughly what the transaction has to write.
std::size_t bytes_of_append(const PreparedAppend& append, const EncodedAppend& encoded,
                            const std::vector<PreparedReceipt>& receipts) {
  std::size_t out = encoded.batch.size() + encoded.info.size();
  for (const auto& [digest, bytes] : append.blobs) out += bytes.size();
  return out + bytes_of(receipts);
}

// The error with advice for damaged bytes of a log; a batch of a newer version is not damaged.
Error advised(Error error) {
  const bool newer = error.message.find("newer agentd") != std::string::npos;
  if (!newer && error.message.find(kDamageAdvice) == std::string::npos)
    error.message += std::string("; ") + kDamageAdvice;
  return error;
}

class LmdbStore final : public Store, public WholeLogs {
 public:
  LmdbStore(std::unique_ptr<Env> env, const Tables& tables, const Clock& clock, const LmdbOptions& options)
      : env_(std::move(env)),
        tables_(tables),
        clock_(clock),
        read_only_(options.read_only),
        appended_(options.appended),
        commits_(*env_, options.use) {}

  // Opens the index of projects if the store has it.
  Result<void> find_project_index() {
    AGENTD_TRY([[maybe_unused]] const auto found, later_.find(*env_, LaterTables::Name::kByProject, false));
    return {};
  }

  Result<std::vector<StoredRecord>> append(const Ulid& conversation, std::uint64_t expected_revision,
                                           std::span<const Record> records, std::span<const std::string> blobs,
                                           std::span<const HookReceipt> receipts,
                                           std::span<const KeyPut> keys) override;
  Result<void> append_receipts(const Ulid& conversation, std::span<const HookReceipt> receipts) override;
  Result<void> receipts(const Ulid& conversation, const std::function<bool(const HookReceipt&)>& visit) const override;
  Result<std::uint64_t> prune_receipts(std::int64_t before_ms, std::uint32_t limit) override;
  Result<void> read(const Ulid& conversation, std::uint64_t first, std::uint64_t last,
                    const std::function<bool(const StoredRecord&)>& visit) const override;
  Result<ConversationInfo> fork(const Ulid& from, std::uint64_t at, GenesisRecord genesis,
                                std::string_view title) override;
  Result<Digest> chain(const Ulid& conversation, std::uint64_t at) const override;
  Result<void> verify(const Ulid& conversation, const std::function<void(const VerifiedBatch&)>& visit) const override;
  Result<ConversationInfo> info(const Ulid& conversation) const override;
  Result<std::vector<ConversationInfo>> list(const ConversationQuery& query) const override;
  Result<std::vector<Ulid>> find_ids(std::string_view prefix, std::uint32_t limit) const override;
  Result<void> remove(const Ulid& conversation) override;
  Result<EraseReport> erase(const Ulid& conversation, std::uint64_t expected_revision,
                            const EraseRequest& request) override;
  Result<WipeReport> wipe() override;
  Result<std::string> blob(const Digest& digest) const override;
  Result<std::unique_ptr<Lease>> lease(const Ulid& conversation) override;
  Result<std::vector<std::string>> key_spaces() const override;
  Result<StoredKey> get_key(std::string_view space, std::string_view key) const override;
  Result<std::vector<StoredKey>> scan_keys(std::string_view space, std::string_view prefix, std::string_view after,
                                           std::uint32_t limit) const override;
  Result<std::uint64_t> commit_keys(std::string_view space, std::span<const KeyOp> ops) override;
  Result<Changes> changes(std::uint64_t cursor, std::uint32_t limit) const override;
  Result<StoreStats> stats() const override;
  Result<VerifiedBatch> batch(const Ulid& conversation, std::uint64_t seq) const override;
  Result<ConversationInfo> bring(const Ulid& conversation, const WholeLog& log, std::span<const KeyPut> keys) override;

 private:
  class Source;
  // None unless this process has opened it; maybe behind. Not to be called inside of a transaction: an older one may
  // not use the handle, and whoever creates a table holds the lock while it waits for LMDB's.
  std::optional<ProjectIndex> project_index() const {
    const std::optional<MDB_dbi> table = later_.opened(LaterTables::Name::kByProject);
    return table ? std::optional(ProjectIndex{*table}) : std::nullopt;
  }
  Result<std::optional<ProjectIndex>> caught_up_index() const;
  Result<LogHead> head(const Ulid& conversation) const;
  Error is_read_only() const { return {Code::kDenied, "the store " + env_->directory() + " was opened read-only"}; }
  // The end of a log, of revision 0 when there is none, and its index.
  Result<KnownHead> read_end(const Ulid& conversation) const;
  Result<void> append_in(Txn& txn, const Ulid& conversation, const PreparedAppend& append, const EncodedAppend& encoded,
                         const HeadRow& row, std::optional<ProjectIndex> index) const;
  // Gives the conversation the newest place in the feed of changes and in its project's list; its cursor.
  Result<std::uint64_t> push_in(Txn& txn, const Ulid& conversation, std::string_view project_keys,
                                std::uint64_t old_cursor, std::optional<ProjectIndex> index) const;
  Result<void> fork_in(Txn& txn, const Ulid& from, const Ulid& to, const PreparedFork& fork,
                       std::optional<ProjectIndex> index) const;
  Result<void> begin_in(Txn& txn, const Ulid& to, const std::vector<std::pair<std::uint64_t, std::string>>& batches,
                        const LogHead& head, const ConversationInfo& info, std::optional<ProjectIndex> index) const;
  Result<void> put_keys_in(Txn& txn, std::span<const KeyPut> keys) const {
    for (const KeyPut& put : keys) {
      const KeyOp op{KeyOp::Kind::kPut, put.key, put.value};
      AGENTD_TRY_VOID(commit_keys_in(txn, tables_, put.space, {&op, 1}));
    }
    return {};
  }
  Result<std::optional<MDB_dbi>> receipts_table(bool create) const {
    return later_.find(*env_, LaterTables::Name::kReceipts, create);
  }
  Result<void> append_receipts_in(Txn& txn, MDB_dbi table, const Ulid& conversation,
                                  const std::vector<PreparedReceipt>& receipts) const;
  Result<std::vector<std::string>> copy_receipts(MDB_dbi table, const Ulid& conversation, std::string& from) const;
  Result<std::optional<Removals>> removals(bool create) const;
  Result<void> remove_in(Txn& txn, const Ulid& conversation, std::optional<MDB_dbi> receipts,
                         std::optional<ProjectIndex> index, const Removals& removals) const;
  Result<void> remove_batches(Txn& txn, const Ulid& conversation) const;
  // Receipts that the request erases, by their keys, as they are now.
  struct OldReceipt {
    std::string was;
    ErasedReceipt now;
  };
  Result<std::map<std::string, OldReceipt>> receipts_to_erase(std::optional<MDB_dbi> table, const Ulid& conversation,
                                                              const EraseRequest& request) const;
  Result<void> erase_in(Txn& txn, const Ulid& conversation, PreparedErase& erased, const LogHead& before,
                        const std::map<std::string, OldReceipt>& receipts, std::optional<MDB_dbi> table,
                        std::optional<ProjectIndex> index, const Removals& removals) const;
  Result<void> remove_receipts(Txn& txn, MDB_dbi table, const Ulid& conversation) const;
  // Reports a conversation that was removed while its log was read as missing, not as broken.
  Result<void> unless_removed(const Ulid& conversation, Result<void> result) const;

  const std::unique_ptr<Env> env_;
  const Tables tables_;
  const Clock& clock_;
  const bool read_only_;
  const std::function<void()> appended_;
  Commits commits_;
  const std::shared_ptr<KnownHeads> heads_ = std::make_shared<KnownHeads>();
  mutable LaterTables later_;
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

Result<LogHead> LmdbStore::head(const Ulid& conversation) const {
  AGENTD_TRY(const Txn txn, env_->begin_read());
  AGENTD_TRY(const std::optional<HeadRow> row, head_of(txn, tables_, conversation));
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

Result<VerifiedBatch> LmdbStore::batch(const Ulid& conversation, std::uint64_t seq) const {
  AGENTD_TRY(const LogHead at, head(conversation));
  auto found = batch_at(Source(*this, conversation), conversation, at, seq);
  if (!found) AGENTD_TRY_VOID(unless_removed(conversation, found.error()));
  return found;
}

Result<std::string> LmdbStore::blob(const Digest& digest) const {
  AGENTD_TRY(const Txn txn, env_->begin_read());
  AGENTD_TRY(const std::optional<std::string_view> value, txn.get(tables_.blob, key_of(digest)));
  if (!value) return no_such_blob(digest);
  return std::string(*value);
}

// ---- appending and removing

Result<KnownHead> LmdbStore::read_end(const Ulid& conversation) const {
  AGENTD_TRY(const Txn txn, env_->begin_read());
  AGENTD_TRY(const std::optional<HeadRow> row, head_of(txn, tables_, conversation));
  KnownHead out;
  if (!row) return out;
  out.head = row->head;
  AGENTD_TRY(out.info, info_of(txn, tables_, key_of(conversation)));
  return out;
}

Result<std::uint64_t> LmdbStore::push_in(Txn& txn, const Ulid& conversation, std::string_view project_keys,
                                         std::uint64_t old_cursor, std::optional<ProjectIndex> index) const {
  AGENTD_TRY(const std::uint64_t cursor, push_change(txn, tables_, conversation, old_cursor));
  if (index) AGENTD_TRY_VOID(index->move(txn, project_keys, conversation, old_cursor, cursor));
  return cursor;
}

Result<void> LmdbStore::append_in(Txn& txn, const Ulid& conversation, const PreparedAppend& append,
                                  const EncodedAppend& encoded, const HeadRow& row,
                                  std::optional<ProjectIndex> index) const {
  for (const auto& [digest, bytes] : append.blobs) AGENTD_TRY_VOID(add_blob(txn, tables_, digest, bytes));
  AGENTD_TRY_VOID(txn.put(tables_.log, encoded.key, encoded.batch));
  HeadRow next{encoded.after.head};
  AGENTD_TRY(next.cursor, push_in(txn, conversation, encoded.project_keys, row.cursor, index));
  AGENTD_TRY_VOID(txn.put(tables_.head, key_of(conversation), write_head(next)));
  return txn.put(tables_.info, key_of(conversation), encoded.info);
}

// Everything that needs no transaction comes before it: what is left is to compare the head and to put the rows.
Result<std::vector<StoredRecord>> LmdbStore::append(const Ulid& conversation, std::uint64_t expected_revision,
                                                    std::span<const Record> records, std::span<const std::string> blobs,
                                                    std::span<const HookReceipt> receipts,
                                                    std::span<const KeyPut> keys) {
  if (read_only_) return is_read_only();
  for (const KeyPut& put : keys) AGENTD_TRY_VOID(check_key(put.space, put.key));
  AGENTD_TRY(PreparedAppend append, prepare_append(conversation, expected_revision, records, blobs, clock_.wall_ms()));
  AGENTD_TRY(const std::vector<PreparedReceipt> answers, prepare_receipts(receipts));
  std::optional<MDB_dbi> table;
  if (!answers.empty()) {
    AGENTD_TRY(table, receipts_table(true));
  }
  std::size_t bytes_of_keys = 0;
  for (const KeyPut& put : keys) bytes_of_keys += put.key.size() + put.value.size();
  const std::optional<ProjectIndex> index = project_index();
  std::optional<KnownHead> follows = heads_->take(conversation);
  for (;;) {
    if (!follows || follows->head.revision != expected_revision) {
      AGENTD_TRY(follows, read_end(conversation));
    }
    if (follows->head.revision != expected_revision)
      return stale_revision(conversation, follows->head.revision, expected_revision);
    AGENTD_TRY(EncodedAppend encoded, encode_append(conversation, append, std::move(*follows)));
    bool other_chain = false;
    const auto change = [&](Txn& txn) -> Result<void> {
      AGENTD_TRY(const std::optional<HeadRow> found, head_of(txn, tables_, conversation));
      const HeadRow row = found.value_or(HeadRow{});
      other_chain = row.head.revision == expected_revision && row.head.chain != encoded.before.chain;
      if (other_chain || row.head.revision != expected_revision)
        return stale_revision(conversation, row.head.revision, expected_revision);
      AGENTD_TRY_VOID(append_in(txn, conversation, append, encoded, row, index));
      AGENTD_TRY_VOID(put_keys_in(txn, keys));
      return table ? append_receipts_in(txn, *table, conversation, answers) : Result<void>();
    };
    const Result<void> written = commits_.write(bytes_of_append(append, encoded, answers) + bytes_of_keys, change);
    if (written) {
      heads_->keep(conversation, std::move(encoded.after));
      if (appended_) appended_();
      return std::move(append.stored);
    }
    if (!other_chain) return written.error();
    // The same revision of another log: it was removed, and written anew, since it was last seen.
    follows.reset();
  }
}

// ---- forks

// Reading and hashing come before the transaction: a log does not change up to a sequence unless the conversation is
// removed, or something is erased from it.
Result<ConversationInfo> LmdbStore::fork(const Ulid& from, std::uint64_t at, GenesisRecord genesis,
                                         std::string_view title) {
  AGENTD_TRY(const Ulid to, Ulid::parse(genesis.conversation_id));
  for (;;) {
    AGENTD_TRY(const LogHead parent, head(from));
    auto fork = prepare_fork(Source(*this, from), from, parent, at, genesis, title, clock_.wall_ms());
    if (!fork) {
      AGENTD_TRY_VOID(unless_removed(from, fork.error()));
      return fork.error();
    }
    std::size_t bytes = 0;
    for (const auto& [first, batch] : fork->batches) bytes += batch.size();
    for (const auto& [digest, blob] : fork->blobs) bytes += blob.size();
    const std::optional<ProjectIndex> index = project_index();
    bool erased = false;
    const Result<void> written = commits_.write(bytes, [&](Txn& txn) -> Result<void> {
      AGENTD_TRY(erased, is_erased_after(txn, tables_, from, parent.revision));
      if (erased) return lost_blob(from);
      return fork_in(txn, from, to, *fork, index);
    });
    if (written) return std::move(fork->info);
    if (!erased) return written.error();
  }
}

Result<void> LmdbStore::fork_in(Txn& txn, const Ulid& from, const Ulid& to, const PreparedFork& fork,
                                std::optional<ProjectIndex> index) const {
  AGENTD_TRY(const std::optional<HeadRow> parent, head_of(txn, tables_, from));
  if (!parent) return no_such_conversation(from);
  AGENTD_TRY(const std::optional<HeadRow> there, head_of(txn, tables_, to));
  if (there) return stale_revision(to, there->head.revision, 0);
  for (const auto& [digest, count] : fork.mentions) {
    AGENTD_TRY(const std::uint64_t mentions, number_at(txn, tables_.mentions, key_of(digest)));
    if (mentions == 0) return lost_blob(from);
  }
  for (const auto& [digest, count] : fork.mentions) AGENTD_TRY_VOID(share_blob(txn, tables_, digest, count));
  for (const auto& [digest, bytes] : fork.blobs) AGENTD_TRY_VOID(add_blob(txn, tables_, digest, bytes));
  return begin_in(txn, to, fork.batches, fork.head, fork.info, index);
}

// The log of a conversation that is not there yet.
Result<void> LmdbStore::begin_in(Txn& txn, const Ulid& to,
                                 const std::vector<std::pair<std::uint64_t, std::string>>& batches, const LogHead& head,
                                 const ConversationInfo& info, std::optional<ProjectIndex> index) const {
  for (const auto& [first, bytes] : batches) AGENTD_TRY_VOID(txn.put(tables_.log, log_key(to, first), bytes));
  HeadRow row;
  row.head = head;
  AGENTD_TRY(row.cursor, push_in(txn, to, ProjectIndex::keys_of(info.project_id), 0, index));
  AGENTD_TRY_VOID(txn.put(tables_.head, key_of(to), write_head(row)));
  return txn.put(tables_.info, key_of(to), sealed(write_info(info)));
}

Result<ConversationInfo> LmdbStore::bring(const Ulid& conversation, const WholeLog& log, std::span<const KeyPut> keys) {
  if (read_only_) return is_read_only();
  for (const KeyPut& put : keys) AGENTD_TRY_VOID(check_key(put.space, put.key));
  AGENTD_TRY(PreparedLog prepared, prepare_log(conversation, log));
  std::size_t bytes = 0;
  for (const auto& [first, batch] : prepared.batches) bytes += batch.size();
  for (const auto& [digest, blob] : prepared.blobs) bytes += blob.size();
  const std::optional<ProjectIndex> index = project_index();
  const Result<void> written = commits_.write(bytes, [&](Txn& txn) -> Result<void> {
    AGENTD_TRY(const std::optional<HeadRow> there, head_of(txn, tables_, conversation));
    if (there) return stale_revision(conversation, there->head.revision, 0);
    AGENTD_TRY_VOID(put_keys_in(txn, keys));
    for (const auto& [digest, blob] : prepared.blobs) AGENTD_TRY_VOID(add_blob(txn, tables_, digest, blob));
    return begin_in(txn, conversation, prepared.batches, {prepared.revision, prepared.chain}, prepared.info, index);
  });
  if (!written) return written.error();
  if (appended_) appended_();
  return std::move(prepared.info);
}

Result<Digest> LmdbStore::chain(const Ulid& conversation, std::uint64_t at) const {
  AGENTD_TRY(const LogHead now, head(conversation));
  return chain_at(Source(*this, conversation), conversation, now, at);
}

// ---- receipts

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
  return commits_.write(bytes_of(answers), [&](Txn& txn) -> Result<void> {
    AGENTD_TRY(const std::optional<HeadRow> row, head_of(txn, tables_, conversation));
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

// They are found before the transaction, which is a deletion's: it works in a full store.
Result<std::uint64_t> LmdbStore::prune_receipts(std::int64_t before_ms, std::uint32_t limit) {
  if (read_only_) return is_read_only();
  std::uint64_t removed = 0;
  AGENTD_TRY(const std::optional<MDB_dbi> table, receipts_table(false));
  if (!table) return removed;
  AGENTD_TRY(const std::vector<std::string> keys, old_receipts(*env_, *table, before_ms, limit));
  if (keys.empty()) return removed;
  AGENTD_TRY_VOID(env_->write(Env::Room::kReserve, [&](Txn& txn) -> Result<void> {
    AGENTD_TRY(removed, erase_receipts(txn, tables_, *table, keys, before_ms));
    return {};
  }));
  return removed;
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

// Made in the room of a deletion, which must work in a full store.
Result<std::optional<Removals>> LmdbStore::removals(bool create) const {
  AGENTD_TRY(const std::optional<MDB_dbi> table,
             later_.find(*env_, LaterTables::Name::kRemoved, create, Env::Room::kReserve));
  return table ? std::optional(Removals{*table}) : std::nullopt;
}

Result<void> LmdbStore::remove_in(Txn& txn, const Ulid& conversation, std::optional<MDB_dbi> receipts,
                                  std::optional<ProjectIndex> index, const Removals& removals) const {
  AGENTD_TRY(const std::optional<HeadRow> row, head_of(txn, tables_, conversation));
  if (!row) return no_such_conversation(conversation);
  AGENTD_TRY_VOID(remove_batches(txn, conversation));
  if (receipts) AGENTD_TRY_VOID(remove_receipts(txn, *receipts, conversation));
  AGENTD_TRY(const std::uint64_t cursor, removals.add(txn, tables_, conversation));
  AGENTD_TRY_VOID(txn.erase(tables_.changes, number(row->cursor)));
  if (index) AGENTD_TRY_VOID(index->pass(txn, cursor));
  // A damaged index row does not name the project: its row in the project's list stays, and is skipped.
  if (index)
    if (const auto info = info_of(txn, tables_, key_of(conversation)); info)
      AGENTD_TRY_VOID(index->remove(txn, info->project_id, row->cursor));
  AGENTD_TRY_VOID(txn.erase(tables_.head, key_of(conversation)));
  return txn.erase(tables_.info, key_of(conversation));
}

Result<void> LmdbStore::remove(const Ulid& conversation) {
  AGENTD_TRY(const std::unique_ptr<Lease> held, lease(conversation));
  AGENTD_TRY(const std::optional<MDB_dbi> receipts, receipts_table(false));
  const std::optional<ProjectIndex> index = project_index();
  AGENTD_TRY(const std::optional<Removals> removals, this->removals(true));
  return env_->write(Env::Room::kReserve,
                     [&](Txn& txn) { return remove_in(txn, conversation, receipts, index, *removals); });
}

// ---- erasing

Result<std::map<std::string, LmdbStore::OldReceipt>> LmdbStore::receipts_to_erase(std::optional<MDB_dbi> table,
                                                                                  const Ulid& conversation,
                                                                                  const EraseRequest& request) const {
  std::map<std::string, OldReceipt> out;
  if (!table || !request.receipt) return out;
  const auto payload_of = [this](const Digest& digest) -> std::optional<std::string> {
    auto bytes = blob(digest);
    return bytes ? std::optional(std::move(*bytes)) : std::nullopt;
  };
  std::string from(key_of(conversation));
  for (;;) {
    std::vector<std::pair<std::string, std::string>> rows;
    {
      AGENTD_TRY(const Txn txn, env_->begin_read());
      AGENTD_TRY(Cursor cursor, Cursor::open(txn, *table));
      AGENTD_TRY(std::optional<Row> row, cursor.at_or_after(from));
      for (std::size_t bytes = 0; row && row->key.starts_with(key_of(conversation)) && bytes < kCopyBytes;) {
        bytes += rows.emplace_back(row->key, row->value).second.size();
        AGENTD_TRY(row, cursor.next());
      }
    }
    if (rows.empty()) return out;
    from = rows.back().first + '\0';
    for (auto& [key, json] : rows)
      if (auto without = erase_receipt(json, request, payload_of))
        out.emplace(std::move(key), OldReceipt{std::move(json), std::move(*without)});
  }
}

// As an append to the end of the log, but the rows before it change as well.
Result<void> LmdbStore::erase_in(Txn& txn, const Ulid& conversation, PreparedErase& erased, const LogHead& before,
                                 const std::map<std::string, OldReceipt>& receipts, std::optional<MDB_dbi> table,
                                 std::optional<ProjectIndex> index, const Removals& removals) const {
  AGENTD_TRY(const std::optional<HeadRow> row, head_of(txn, tables_, conversation));
  if (!row) return no_such_conversation(conversation);
  if (row->head.revision != before.revision || row->head.chain != before.chain)
    return stale_revision(conversation, row->head.revision, before.revision);
  for (const auto& [first, bytes] : erased.batches)
    AGENTD_TRY_VOID(txn.put(tables_.log, log_key(conversation, first), bytes));
  if (!erased.appended.empty()) {
    for (const auto& [digest, bytes] : erased.append.blobs) AGENTD_TRY_VOID(add_blob(txn, tables_, digest, bytes));
    AGENTD_TRY_VOID(txn.put(tables_.log, log_key(conversation, erased.append.batch.first_seq), erased.appended));
  }
  for (const auto& [digest, count] : erased.dropped)
    for (std::uint64_t i = 0; i < count; ++i) AGENTD_TRY_VOID(drop_blob(txn, tables_, digest));
  erased.report.receipts = 0;
  for (const auto& [key, receipt] : receipts) {
    AGENTD_TRY(const std::optional<std::string_view> now, txn.get(*table, key));
    if (!now || *now != receipt.was) continue;  // removed for its age
    if (receipt.now.payload) AGENTD_TRY_VOID(drop_blob(txn, tables_, *receipt.now.payload));
    AGENTD_TRY_VOID(txn.put(*table, key, sealed(receipt.now.json)));
    ++erased.report.receipts;
  }
  AGENTD_TRY(const std::uint64_t removal, removals.add(txn, tables_, conversation));
  if (index) AGENTD_TRY_VOID(index->pass(txn, removal));
  HeadRow next{erased.head};
  AGENTD_TRY(next.cursor,
             push_in(txn, conversation, ProjectIndex::keys_of(erased.info.project_id), row->cursor, index));
  AGENTD_TRY_VOID(txn.put(tables_.head, key_of(conversation), write_head(next)));
  return txn.put(tables_.info, key_of(conversation), sealed(write_info(erased.info)));
}

Result<EraseReport> LmdbStore::erase(const Ulid& conversation, std::uint64_t expected_revision,
                                     const EraseRequest& request) {
  if (read_only_) return is_read_only();
  AGENTD_TRY(const LogHead before, head(conversation));
  if (before.revision != expected_revision) return stale_revision(conversation, before.revision, expected_revision);
  auto erased = prepare_erase(Source(*this, conversation), conversation, before, request, clock_.wall_ms());
  if (!erased) {
    AGENTD_TRY_VOID(unless_removed(conversation, erased.error()));
    return erased.error();
  }
  AGENTD_TRY(const std::optional<MDB_dbi> table, receipts_table(false));
  AGENTD_TRY(const auto receipts, receipts_to_erase(table, conversation, request));
  const std::optional<ProjectIndex> index = project_index();
  AGENTD_TRY(const std::optional<Removals> removals, this->removals(true));
  (void)heads_->take(conversation);  // what is known of the end has the old title
  AGENTD_TRY_VOID(env_->write(Env::Room::kReserve, [&](Txn& txn) {
    return erase_in(txn, conversation, *erased, before, receipts, table, index, *removals);
  }));
  return erased->report;
}

Result<WipeReport> LmdbStore::wipe() {
  if (read_only_) return is_read_only();
  return wipe_unused(*env_, tables_, clock_);
}

Result<std::unique_ptr<Lease>> LmdbStore::lease(const Ulid& conversation) {
  if (read_only_) return is_read_only();
  AGENTD_TRY(std::unique_ptr<Lease> lease, take_lease(env_->directory(), conversation));
  return KnownHeads::during(std::move(lease), heads_, conversation);
}

// ---- the index

Result<ConversationInfo> LmdbStore::info(const Ulid& conversation) const {
  AGENTD_TRY(const Txn txn, env_->begin_read());
  AGENTD_TRY(const std::optional<HeadRow> row, head_of(txn, tables_, conversation));
  if (!row) return no_such_conversation(conversation);
  return info_of(txn, tables_, key_of(conversation));
}

Result<std::vector<ConversationInfo>> LmdbStore::list(const ConversationQuery& query) const {
  std::optional<ProjectIndex> index;
  if (!query.project_id.empty()) {
    // Without an index all conversations are read: on a full disk, and when a damaged row keeps it from catching up,
    // which the list then reports.
    auto caught_up = caught_up_index();
    const bool can_do_without =
        !caught_up && (caught_up.error().code == Code::kUnavailable || caught_up.error().code == Code::kCorrupt);
    if (!caught_up && !can_do_without) return caught_up.error();
    if (caught_up) index = *caught_up;
  }
  std::vector<std::string> stale;
  auto out = list_conversations(*env_, tables_, index, query, stale);
  if (!stale.empty() && !read_only_)
    (void)env_->write(Env::Room::kOrdinary, [&](Txn& txn) { return index->erase_stale(txn, tables_, stale); });
  return out;
}

// With all changes up to now. None in a store that cannot be written and has none that is current.
Result<std::optional<ProjectIndex>> LmdbStore::caught_up_index() const {
  AGENTD_TRY(const std::optional<MDB_dbi> table, later_.find(*env_, LaterTables::Name::kByProject, !read_only_));
  if (!table) return std::optional<ProjectIndex>{};
  const ProjectIndex index{*table};
  std::uint64_t upto = 0, newest = 0;
  {
    AGENTD_TRY(const Txn txn, env_->begin_read());
    AGENTD_TRY(upto, index.upto(txn));
    AGENTD_TRY(newest, newest_change(txn, tables_));
  }
  if (upto < newest && read_only_) return std::optional<ProjectIndex>{};
  const auto more = [&](Txn& txn) -> Result<void> {
    AGENTD_TRY_VOID(index.catch_up(txn, tables_));
    AGENTD_TRY(upto, index.upto(txn));
    return {};
  };
  while (upto < newest) AGENTD_TRY_VOID(env_->write(Env::Room::kOrdinary, more));
  return std::optional(index);
}

Result<std::vector<Ulid>> LmdbStore::find_ids(std::string_view prefix, std::uint32_t limit) const {
  std::vector<Ulid> out;
  const std::optional<IdRange> range = ids_that_begin(prefix);
  if (!range) return out;
  AGENTD_TRY(const Txn txn, env_->begin_read());
  AGENTD_TRY(Cursor cursor, Cursor::open(txn, tables_.head));
  AGENTD_TRY(std::optional<Row> row, cursor.at_or_after(key_of(range->first)));
  while (row && row->key <= key_of(range->last) && out.size() < limit_or_default(limit)) {
    if (const auto id = read_ulid(row->key); id) out.push_back(*id);
    AGENTD_TRY(row, cursor.next());
  }
  return out;
}

Result<Store::Changes> LmdbStore::changes(std::uint64_t cursor, std::uint32_t limit) const {
  AGENTD_TRY(const std::optional<Removals> removals, this->removals(false));
  AGENTD_TRY(const Txn txn, env_->begin_read());
  return changes_after(txn, tables_, removals, cursor, limit);
}

Result<StoreStats> LmdbStore::stats() const {
  StoreStats out;
  AGENTD_TRY(const std::optional<MDB_dbi> receipts, receipts_table(false));
  if (receipts) {
    AGENTD_TRY(out.oldest_receipt_ms, oldest_receipt_ms(*env_, *receipts));
  }
  {
    AGENTD_TRY(const Txn txn, env_->begin_read());
    AGENTD_TRY(out.conversations, txn.count(tables_.head));
    if (receipts) {
      AGENTD_TRY(out.receipts, txn.count(*receipts));
    }
    AGENTD_TRY(const std::uint64_t format, number_at(txn, tables_.meta, kFormat));
    out.format = static_cast<std::uint32_t>(format);
  }
  out.path = env_->directory();
  out.bytes = env_->file_bytes();
  out.map_bytes = env_->map_bytes();
  return out;
}

// ---- keys

Result<std::vector<std::string>> LmdbStore::key_spaces() const {
  AGENTD_TRY(const Txn txn, env_->begin_read());
  return key_spaces_in(txn, tables_);
}

Result<StoredKey> LmdbStore::get_key(std::string_view space, std::string_view key) const {
  AGENTD_TRY_VOID(check_key(space, key));
  AGENTD_TRY(const Txn txn, env_->begin_read());
  return key_in(txn, tables_, space, key);
}

Result<std::vector<StoredKey>> LmdbStore::scan_keys(std::string_view space, std::string_view prefix,
                                                    std::string_view after, std::uint32_t limit) const {
  AGENTD_TRY_VOID(check_key(space, "k"));
  AGENTD_TRY(const Txn txn, env_->begin_read());
  return keys_in(txn, tables_, space, prefix, after, limit);
}

Result<std::uint64_t> LmdbStore::commit_keys(std::string_view space, std::span<const KeyOp> ops) {
  AGENTD_TRY_VOID(check_key(space, "k"));
  std::uint64_t version = 0;
  const auto change = [&](Txn& txn) -> Result<void> {
    AGENTD_TRY(version, commit_keys_in(txn, tables_, space, ops));
    return {};
  };
  std::size_t bytes = 0;
  for (const KeyOp& op : ops) bytes += op.key.size() + op.value.size();
  AGENTD_TRY_VOID(commits_.write(bytes, change));
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
    // From the first change on they are current.
    AGENTD_TRY([[maybe_unused]] const MDB_dbi index,
               txn.open_table(LaterTables::text_of(LaterTables::Name::kByProject), true));
    AGENTD_TRY(const MDB_dbi removed, txn.open_table(LaterTables::text_of(LaterTables::Name::kRemoved), true));
    AGENTD_TRY_VOID(Removals{removed}.begin(txn));
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
  auto store = std::make_unique<LmdbStore>(std::move(env), tables, clock, options);
  AGENTD_TRY_VOID(store->find_project_index());
  return std::unique_ptr<Store>(std::move(store));
}

}  // namespace agentd
