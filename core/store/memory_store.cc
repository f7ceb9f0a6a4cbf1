// SPDX-License-Identifier: Apache-2.0
// memory_store.cc - the Store that ends with its process. It keeps the same encoded batches as the store on disk, so
// that a run without saving uses the same code.
#include <algorithm>
#include <map>
#include <set>

#include "core/base/clock.h"
#include "core/base/mutex.h"
#include "core/store/erase_rules.h"
#include "core/store/log_rules.h"
#include "core/store/store.h"
#include "core/store/whole_log.h"

namespace agentd {
namespace {

struct Log {
  std::map<std::uint64_t, std::string> batches;  // by first sequence
  LogHead head;
  std::uint64_t cursor = 0;
  ConversationInfo info;
  std::vector<std::string> receipts;
};

struct Blob {
  std::string bytes;
  std::uint64_t mentions = 0;
};

struct Space {
  std::map<std::string, StoredKey, std::less<>> keys;
  std::uint64_t version = 0;
  std::uint64_t bytes = 0;  // of keys and values
};

// Shared by the store and its leases, which may outlive it.
struct Held {
  Mutex mutex;
  std::set<Ulid> conversations GUARDED_BY(mutex);
};

class MemoryLease final : public Lease {
 public:
  MemoryLease(std::shared_ptr<Held> held, const Ulid& conversation)
      : held_(std::move(held)), conversation_(conversation) {}
  ~MemoryLease() override {
    const MutexLock lock(held_->mutex);
    held_->conversations.erase(conversation_);
  }

 private:
  const std::shared_ptr<Held> held_;
  const Ulid conversation_;
};

class MemoryStore final : public Store, public WholeLogs {
 public:
  explicit MemoryStore(const Clock& clock) : clock_(clock) {}

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
  Result<WipeReport> wipe() override { return WipeReport{}; }
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
  Result<LogHead> head(const Ulid& conversation) const;
  void keep(const Digest& digest, std::string_view bytes) REQUIRES(mutex_);
  void forget(const Digest& digest) REQUIRES(mutex_);
  void keep_receipts(Log& log, std::vector<PreparedReceipt> receipts) REQUIRES(mutex_);
  void commit(const Ulid& conversation, Log& log, const PreparedAppend& append) REQUIRES(mutex_);
  void keep_removal(const Ulid& conversation) REQUIRES(mutex_);
  Result<std::uint64_t> change_keys(std::string_view space, std::span<const KeyOp> ops) REQUIRES(mutex_);
  // The cursor of the conversation that ended the page before; the end without one.
  Result<std::uint64_t> page_start(const std::string& after) const REQUIRES(mutex_);

  const Clock& clock_;
  const std::shared_ptr<Held> held_ = std::make_shared<Held>();  // with leases
  mutable Mutex mutex_;
  std::map<Ulid, Log> logs_ GUARDED_BY(mutex_);
  std::map<std::uint64_t, Ulid> changes_ GUARDED_BY(mutex_);
  std::map<std::uint64_t, Ulid> removals_ GUARDED_BY(mutex_);
  std::uint64_t lost_removal_ GUARDED_BY(mutex_) = 0;  // the newest one that is not kept
  std::uint64_t cursor_ GUARDED_BY(mutex_) = 0;
  std::map<Digest, Blob> blobs_ GUARDED_BY(mutex_);
  std::map<std::string, Space, std::less<>> spaces_ GUARDED_BY(mutex_);
};

class MemoryStore::Source final : public BatchSource {
 public:
  Source(const MemoryStore& store, const Ulid& conversation) : store_(store), conversation_(conversation) {}

  Result<std::vector<std::string>> batches(std::uint64_t seq) const override {
    const MutexLock lock(store_.mutex_);
    const auto log = store_.logs_.find(conversation_);
    if (log == store_.logs_.end()) return no_such_conversation(conversation_);
    auto at = log->second.batches.upper_bound(seq);
    if (at == log->second.batches.begin()) return std::vector<std::string>{};
    return std::vector<std::string>{(--at)->second};
  }
  Result<std::string> blob(const Digest& digest) const override { return store_.blob(digest); }

 private:
  const MemoryStore& store_;
  const Ulid conversation_;
};

Result<LogHead> MemoryStore::head(const Ulid& conversation) const {
  const MutexLock lock(mutex_);
  const auto log = logs_.find(conversation);
  if (log == logs_.end()) return no_such_conversation(conversation);
  return log->second.head;
}

void MemoryStore::keep(const Digest& digest, std::string_view bytes) {
  Blob& blob = blobs_[digest];
  if (blob.mentions++ == 0) blob.bytes = bytes;
}

void MemoryStore::keep_receipts(Log& log, std::vector<PreparedReceipt> receipts) {
  for (PreparedReceipt& receipt : receipts) {
    if (receipt.payload) keep(receipt.payload->first, receipt.payload->second);
    log.receipts.push_back(std::move(receipt.json));
  }
}

void MemoryStore::commit(const Ulid& conversation, Log& log, const PreparedAppend& append) {
  for (const auto& [digest, bytes] : append.blobs) keep(digest, bytes);
  log.batches[append.batch.first_seq] = encode_batch(append.batch);
  log.head = {append.batch.last_seq(), chain_of(append.batch)};
  changes_.erase(log.cursor);
  log.cursor = ++cursor_;
  changes_[log.cursor] = conversation;
}

Result<std::vector<StoredRecord>> MemoryStore::append(const Ulid& conversation, std::uint64_t expected_revision,
                                                      std::span<const Record> records,
                                                      std::span<const std::string> blobs,
                                                      std::span<const HookReceipt> receipts,
                                                      std::span<const KeyPut> keys) {
  AGENTD_TRY(PreparedAppend append, prepare_append(conversation, expected_revision, records, blobs, clock_.wall_ms()));
  AGENTD_TRY(std::vector<PreparedReceipt> answers, prepare_receipts(receipts));
  const MutexLock lock(mutex_);
  const auto found = logs_.find(conversation);
  const std::uint64_t revision = found == logs_.end() ? 0 : found->second.head.revision;
  if (revision != expected_revision) return stale_revision(conversation, revision, expected_revision);
  ConversationInfo info = found == logs_.end() ? ConversationInfo{} : found->second.info;
  AGENTD_TRY_VOID(fold_all(info, append.stored));
  for (const KeyPut& put : keys) {
    const KeyOp op{KeyOp::Kind::kPut, put.key, put.value};
    AGENTD_TRY([[maybe_unused]] const std::uint64_t version, change_keys(put.space, {&op, 1}));
  }
  Log& log = logs_[conversation];
  append.batch.previous = log.head.chain;
  log.info = std::move(info);
  commit(conversation, log, append);
  keep_receipts(log, std::move(answers));
  return std::move(append.stored);
}

Result<void> MemoryStore::append_receipts(const Ulid& conversation, std::span<const HookReceipt> receipts) {
  AGENTD_TRY(std::vector<PreparedReceipt> answers, prepare_receipts(receipts));
  const MutexLock lock(mutex_);
  const auto log = logs_.find(conversation);
  if (log == logs_.end()) return no_such_conversation(conversation);
  keep_receipts(log->second, std::move(answers));
  return {};
}

Result<void> MemoryStore::receipts(const Ulid& conversation,
                                   const std::function<bool(const HookReceipt&)>& visit) const {
  std::vector<std::string> texts;
  {
    const MutexLock lock(mutex_);
    const auto log = logs_.find(conversation);
    if (log == logs_.end()) return no_such_conversation(conversation);
    texts = log->second.receipts;
  }
  for (const std::string& text : texts) {
    AGENTD_TRY(const HookReceipt receipt, read_receipt(text));
    if (!visit(receipt)) return {};
  }
  return {};
}

Result<std::uint64_t> MemoryStore::prune_receipts(std::int64_t before_ms, std::uint32_t limit) {
  const MutexLock lock(mutex_);
  std::uint64_t removed = 0;
  for (auto& [id, log] : logs_) {
    if (!began_before(id, before_ms)) break;
    const auto is_old = [&](const std::string& receipt) {
      const auto time = time_of_receipt(receipt);
      return time && *time < before_ms;
    };
    auto end = log.receipts.begin();
    for (; end != log.receipts.end() && removed < limit && is_old(*end); ++end, ++removed)
      if (const auto digest = payload_of_receipt(*end)) forget(*digest);
    log.receipts.erase(log.receipts.begin(), end);
  }
  return removed;
}

Result<void> MemoryStore::read(const Ulid& conversation, std::uint64_t first, std::uint64_t last,
                               const std::function<bool(const StoredRecord&)>& visit) const {
  AGENTD_TRY(const LogHead at, head(conversation));
  return read_log(Source(*this, conversation), conversation, at, first, last, visit);
}

Result<ConversationInfo> MemoryStore::fork(const Ulid& from, std::uint64_t at, GenesisRecord genesis,
                                           std::string_view title) {
  AGENTD_TRY(const Ulid to, Ulid::parse(genesis.conversation_id));
  for (;;) {
    AGENTD_TRY(const LogHead parent, head(from));
    AGENTD_TRY(PreparedFork fork,
               prepare_fork(Source(*this, from), from, parent, at, genesis, title, clock_.wall_ms()));
    const MutexLock lock(mutex_);
    const auto still = logs_.find(from);
    if (still == logs_.end()) return no_such_conversation(from);
    bool erased = false;
    const auto& batches = still->second.batches;
    for (auto batch = batches.upper_bound(parent.revision); batch != batches.end(); ++batch) {
      AGENTD_TRY(const Batch later, decode_batch(batch->second));
      erased = erased || erases(later);
    }
    if (erased) continue;
    if (const auto there = logs_.find(to); there != logs_.end())
      return stale_revision(to, there->second.head.revision, 0);
    for (const auto& [digest, count] : fork.mentions)
      if (!blobs_.contains(digest)) return lost_blob(from);
    for (const auto& [digest, count] : fork.mentions) blobs_[digest].mentions += count;
    for (const auto& [digest, bytes] : fork.blobs) keep(digest, bytes);
    Log& log = logs_[to];
    for (auto& [first, bytes] : fork.batches) log.batches[first] = std::move(bytes);
    log.head = fork.head;
    log.info = fork.info;
    log.cursor = ++cursor_;
    changes_[log.cursor] = to;
    return std::move(fork.info);
  }
}

Result<Digest> MemoryStore::chain(const Ulid& conversation, std::uint64_t at) const {
  AGENTD_TRY(const LogHead now, head(conversation));
  return chain_at(Source(*this, conversation), conversation, now, at);
}

Result<void> MemoryStore::verify(const Ulid& conversation,
                                 const std::function<void(const VerifiedBatch&)>& visit) const {
  AGENTD_TRY(const LogHead at, head(conversation));
  return verify_log(Source(*this, conversation), conversation, at, visit);
}

Result<VerifiedBatch> MemoryStore::batch(const Ulid& conversation, std::uint64_t seq) const {
  AGENTD_TRY(const LogHead at, head(conversation));
  return batch_at(Source(*this, conversation), conversation, at, seq);
}

Result<ConversationInfo> MemoryStore::bring(const Ulid& conversation, const WholeLog& log,
                                            std::span<const KeyPut> keys) {
  AGENTD_TRY(PreparedLog prepared, prepare_log(conversation, log));
  const MutexLock lock(mutex_);
  if (const auto there = logs_.find(conversation); there != logs_.end())
    return stale_revision(conversation, there->second.head.revision, 0);
  for (const KeyPut& put : keys) {
    const KeyOp op{KeyOp::Kind::kPut, put.key, put.value};
    AGENTD_TRY([[maybe_unused]] const std::uint64_t version, change_keys(put.space, {&op, 1}));
  }
  for (const auto& [digest, bytes] : prepared.blobs) keep(digest, bytes);
  Log& made = logs_[conversation];
  for (auto& [first, bytes] : prepared.batches) made.batches[first] = std::move(bytes);
  made.head = {prepared.revision, prepared.chain};
  made.info = prepared.info;
  made.cursor = ++cursor_;
  changes_[made.cursor] = conversation;
  return std::move(prepared.info);
}

Result<ConversationInfo> MemoryStore::info(const Ulid& conversation) const {
  const MutexLock lock(mutex_);
  const auto log = logs_.find(conversation);
  if (log == logs_.end()) return no_such_conversation(conversation);
  return log->second.info;
}

Result<std::uint64_t> MemoryStore::page_start(const std::string& after) const {
  if (after.empty()) return cursor_ + 1;
  AGENTD_TRY(const Ulid id, Ulid::parse(after));
  const auto log = logs_.find(id);
  if (log == logs_.end()) return no_such_conversation(id);
  return log->second.cursor;
}

Result<std::vector<ConversationInfo>> MemoryStore::list(const ConversationQuery& query) const {
  const MutexLock lock(mutex_);
  AGENTD_TRY(const std::uint64_t start, page_start(query.after));
  std::vector<ConversationInfo> out;
  auto at = changes_.lower_bound(start);
  while (at != changes_.begin() && out.size() < limit_or_default(query.limit)) {
    const ConversationInfo& info = logs_.at((--at)->second).info;
    if (matches(info, query)) out.push_back(info);
  }
  return out;
}

Result<std::vector<Ulid>> MemoryStore::find_ids(std::string_view prefix, std::uint32_t limit) const {
  std::vector<Ulid> out;
  const std::optional<IdRange> range = ids_that_begin(prefix);
  if (!range) return out;
  const MutexLock lock(mutex_);
  for (auto at = logs_.lower_bound(range->first);
       at != logs_.end() && at->first <= range->last && out.size() < limit_or_default(limit); ++at)
    out.push_back(at->first);
  return out;
}

void MemoryStore::forget(const Digest& digest) {
  const auto blob = blobs_.find(digest);
  if (blob != blobs_.end() && --blob->second.mentions == 0) blobs_.erase(blob);
}

void MemoryStore::keep_removal(const Ulid& conversation) {
  removals_[++cursor_] = conversation;
  if (removals_.size() <= kRemovalsKept) return;
  lost_removal_ = removals_.begin()->first;
  removals_.erase(removals_.begin());
}

Result<void> MemoryStore::remove(const Ulid& conversation) {
  AGENTD_TRY(const std::unique_ptr<Lease> held, lease(conversation));
  const MutexLock lock(mutex_);
  const auto log = logs_.find(conversation);
  if (log == logs_.end()) return no_such_conversation(conversation);
  for (const auto& [first, bytes] : log->second.batches) {
    AGENTD_TRY(const Batch batch, decode_batch(bytes));
    for (const BatchRecord& record : batch.records)
      if (record.in_blob()) forget(record.digest);
    for (const Digest& digest : batch.attached) forget(digest);
  }
  for (const std::string& receipt : log->second.receipts)
    if (const auto digest = payload_of_receipt(receipt)) forget(*digest);
  changes_.erase(log->second.cursor);
  logs_.erase(log);
  keep_removal(conversation);
  return {};
}

Result<EraseReport> MemoryStore::erase(const Ulid& conversation, std::uint64_t expected_revision,
                                       const EraseRequest& request) {
  AGENTD_TRY(const LogHead at, head(conversation));
  if (at.revision != expected_revision) return stale_revision(conversation, at.revision, expected_revision);
  AGENTD_TRY(PreparedErase erased,
             prepare_erase(Source(*this, conversation), conversation, at, request, clock_.wall_ms()));
  // The caller's function runs without the lock.
  std::vector<std::string> receipts;
  {
    const MutexLock lock(mutex_);
    if (const auto log = logs_.find(conversation); log != logs_.end()) receipts = log->second.receipts;
  }
  std::map<std::string, ErasedReceipt> replaced;
  const auto payload_of = [this](const Digest& digest) -> std::optional<std::string> {
    auto bytes = blob(digest);
    return bytes ? std::optional(std::move(*bytes)) : std::nullopt;
  };
  for (const std::string& receipt : receipts)
    if (auto without = erase_receipt(receipt, request, payload_of)) replaced.emplace(receipt, std::move(*without));
  const MutexLock lock(mutex_);
  const auto found = logs_.find(conversation);
  if (found == logs_.end()) return no_such_conversation(conversation);
  Log& log = found->second;
  if (log.head.revision != at.revision || log.head.chain != at.chain)
    return stale_revision(conversation, log.head.revision, expected_revision);
  for (auto& [first, bytes] : erased.batches) log.batches[first] = std::move(bytes);
  for (const auto& [digest, count] : erased.dropped)
    for (std::uint64_t i = 0; i < count; ++i) forget(digest);
  for (std::string& receipt : log.receipts) {
    const auto without = replaced.find(receipt);
    if (without == replaced.end()) continue;
    if (without->second.payload) forget(*without->second.payload);
    receipt = without->second.json;
    ++erased.report.receipts;
  }
  keep_removal(conversation);
  log.info = std::move(erased.info);
  if (erased.append.stored.empty()) {
    changes_.erase(log.cursor);
    log.cursor = ++cursor_;
    changes_[log.cursor] = conversation;
  } else {
    commit(conversation, log, erased.append);
  }
  return erased.report;
}

Result<std::vector<std::string>> MemoryStore::key_spaces() const {
  const MutexLock lock(mutex_);
  std::vector<std::string> out;
  for (const auto& [name, space] : spaces_) out.push_back(name);
  return out;
}

Result<std::string> MemoryStore::blob(const Digest& digest) const {
  const MutexLock lock(mutex_);
  const auto blob = blobs_.find(digest);
  if (blob == blobs_.end()) return no_such_blob(digest);
  return blob->second.bytes;
}

Result<std::unique_ptr<Lease>> MemoryStore::lease(const Ulid& conversation) {
  const MutexLock lock(held_->mutex);
  if (!held_->conversations.insert(conversation).second)
    return Error{Code::kBusy, "conversation " + conversation.text() + " is in use by this process"};
  return std::unique_ptr<Lease>(std::make_unique<MemoryLease>(held_, conversation));
}

Result<StoredKey> MemoryStore::get_key(std::string_view space, std::string_view key) const {
  AGENTD_TRY_VOID(check_key(space, key));
  const MutexLock lock(mutex_);
  const auto in = spaces_.find(space);
  if (in != spaces_.end())
    if (const auto found = in->second.keys.find(key); found != in->second.keys.end()) return found->second;
  return no_such_key(space, key);
}

Result<std::vector<StoredKey>> MemoryStore::scan_keys(std::string_view space, std::string_view prefix,
                                                      std::string_view after, std::uint32_t limit) const {
  AGENTD_TRY_VOID(check_key(space, "k"));
  const MutexLock lock(mutex_);
  std::vector<StoredKey> out;
  const auto in = spaces_.find(space);
  if (in == spaces_.end()) return out;
  const auto& keys = in->second.keys;
  auto at = !after.empty() && after >= prefix ? keys.upper_bound(after) : keys.lower_bound(prefix);
  for (; at != keys.end() && at->first.starts_with(prefix) && out.size() < limit_or_default(limit); ++at)
    out.push_back(at->second);
  return out;
}

Result<std::uint64_t> MemoryStore::commit_keys(std::string_view space, std::span<const KeyOp> ops) {
  const MutexLock lock(mutex_);
  return change_keys(space, ops);
}

Result<std::uint64_t> MemoryStore::change_keys(std::string_view space, std::span<const KeyOp> ops) {
  AGENTD_TRY_VOID(check_key(space, "k"));
  const auto in = spaces_.find(space);
  const bool is_new = in == spaces_.end();
  const auto version_of = [&](std::string_view key) -> Result<std::uint64_t> {
    if (is_new) return KeyOp::kAbsent;
    const auto found = in->second.keys.find(key);
    return found == in->second.keys.end() ? KeyOp::kAbsent : found->second.version;
  };
  AGENTD_TRY(const KeyChanges changes, plan_keys(space, ops, version_of));
  if (changes.empty()) return is_new ? 0 : in->second.version;
  const auto bytes_of = [&](std::string_view key) -> Result<std::uint64_t> {
    if (is_new) return 0;
    const auto found = in->second.keys.find(key);
    return found == in->second.keys.end() ? 0 : key.size() + found->second.value.size();
  };
  AGENTD_TRY(const std::uint64_t bytes,
             plan_bytes(space, changes, in == spaces_.end() ? 0 : in->second.bytes, bytes_of));
  Space& to = spaces_[std::string(space)];
  ++to.version;
  to.bytes = bytes;
  for (const auto& [key, value] : changes) {
    if (value)
      to.keys[key] = {key, std::string(*value), to.version};
    else
      to.keys.erase(key);
  }
  return to.version;
}

Result<Store::Changes> MemoryStore::changes(std::uint64_t cursor, std::uint32_t limit) const {
  const MutexLock lock(mutex_);
  Changes out;
  out.next = cursor;
  out.removals_lost = cursor != 0 && cursor < lost_removal_;
  auto change = changes_.upper_bound(cursor);
  auto removal = removals_.upper_bound(cursor);
  for (std::uint32_t left = limit_or_default(limit); left > 0; --left) {
    const bool has_change = change != changes_.end(), has_removal = removal != removals_.end();
    if (!has_change && !has_removal) break;
    if (has_removal && (!has_change || removal->first < change->first)) {
      out.next = removal->first;
      out.removed.push_back((removal++)->second);
    } else {
      out.next = change->first;
      out.changed.push_back(logs_.at((change++)->second).info);
    }
  }
  return out;
}

Result<StoreStats> MemoryStore::stats() const {
  const MutexLock lock(mutex_);
  StoreStats out;
  out.conversations = logs_.size();
  for (const auto& [id, log] : logs_) {
    for (const auto& [first, bytes] : log.batches) out.bytes += bytes.size();
    out.receipts += log.receipts.size();
    for (const std::string& receipt : log.receipts) {
      out.bytes += receipt.size();
      const std::int64_t time = time_of_receipt(receipt).value_or(0);
      if (out.oldest_receipt_ms == 0 || time < out.oldest_receipt_ms) out.oldest_receipt_ms = time;
    }
  }
  for (const auto& [digest, blob] : blobs_) out.bytes += blob.bytes.size();
  out.format = kStoreFormat;
  return out;
}

}  // namespace

std::unique_ptr<Store> make_memory_store(const Clock& clock) { return std::make_unique<MemoryStore>(clock); }

}  // namespace agentd
