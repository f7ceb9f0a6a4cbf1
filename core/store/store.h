// SPDX-License-Identifier: Apache-2.0
#pragma once
// store.h - the store of conversations: append-only logs, an index of them, and plugins' keys.
//
// Writes that append() and commit_keys() acknowledge are durable. A log is a chain of commit batches
// (docs/internals/log.md). Several processes may use one store at the same time.
//
// Threading: thread-safe. Functions block only on the disk and other writers.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/ids.h"
#include "core/base/result.h"
#include "core/conversation/info.h"
#include "core/conversation/receipt.h"
#include "core/conversation/record.h"

namespace agentd {

struct ConversationQuery {
  std::string project_id;                   // empty = all
  std::string text;                         // substring of title or id, ASCII case ignored; empty = all
  std::string after;                        // id of the previous page's last conversation
  std::int64_t since_ms = 0, until_ms = 0;  // of updated_ms; 0 = open
  std::uint32_t limit = 100;
};

// Held for the length of a run: no other process or run appends to that conversation. Released when it is destroyed or
// its process dies.
class Lease {
 public:
  virtual ~Lease() = default;
};

struct StoredKey {
  std::string key, value;
  std::uint64_t version = 0;
};
struct KeyOp {
  enum class Kind { kPut, kErase, kCheck };
  static constexpr std::uint64_t kAbsent = 0;
  static constexpr std::uint64_t kAny = UINT64_MAX;
  Kind kind = Kind::kPut;
  std::string key, value;
  std::uint64_t expect = kAny;
};

// A key that an append puts in the same commit, whatever it was before.
struct KeyPut {
  std::string space, key, value;
};

struct StoreStats {
  std::string path;  // empty for a store in memory
  std::uint64_t conversations = 0, bytes = 0, map_bytes = 0;
  std::uint32_t format = 0;
  std::uint64_t receipts = 0;
  std::int64_t oldest_receipt_ms = 0;  // 0 = there are none
};

// A commit batch at its place in the chain (docs/internals/log.md).
struct VerifiedBatch {
  std::int64_t time_ms = 0;
  Digest previous{};                  // the chain before it; zero for the first
  std::vector<StoredRecord> records;  // with their payloads, wherever those are stored
  std::vector<Digest> attached;       // blobs that the append added besides its records
  Digest chain{};                     // up to its end
};

// Erases parts of one conversation's log.
struct Erasure {
  std::uint64_t seq = 0;
  std::string payload;  // what takes the place of the record's, a JSON object of the same kind
};
struct EraseRequest {
  std::vector<Erasure> records;
  std::vector<Digest> attached;  // blobs that appends added besides their records
  std::vector<Record> append;    // appended behind the erase records, in the same commit
  // True for a receipt whose answer, note and payload go; `payload` is empty when none is kept. Not called inside of a
  // transaction. Empty = receipts stay as they are.
  std::function<bool(const HookReceipt& receipt, std::string_view payload)> receipt;
};
struct EraseReport {
  std::uint64_t records = 0, texts = 0, receipts = 0;  // texts: mentions of attached blobs
  std::uint64_t revision = 0;                          // of the conversation afterwards
};

// The remains of removed and erased bytes in the store's files.
struct WipeReport {
  std::uint64_t bytes = 0;  // overwritten with zeros
  // Pages that another process may still read, in a state of before: they are overwritten by a later wipe().
  std::uint64_t pages_left = 0;
};

class Store {
 public:
  virtual ~Store() = default;

  // Adds `records` after `expected_revision` (0 = the conversation is new, and the first record is a genesis) as one
  // commit batch, all or none. Returns them with their sequences, times and digests. kConflict: the revision differs;
  // nothing was written. kUnavailable: the disk is full or failing; nothing was written. `blobs` are stored by their
  // SHA-256 in the same commit, `receipts` as by append_receipts(), and `keys` as by commit_keys(): kDenied for a
  // space that is full.
  virtual Result<std::vector<StoredRecord>> append(const Ulid& conversation, std::uint64_t expected_revision,
                                                   std::span<const Record> records,
                                                   std::span<const std::string> blobs = {},
                                                   std::span<const HookReceipt> receipts = {},
                                                   std::span<const KeyPut> keys = {}) = 0;

  // Adds receipts, all or none; a passed payload is kept as a blob. Revision, index and chain do not change, and no
  // lease is needed. kNotFound: the conversation has no log. kInvalid: a payload does not match its digest.
  virtual Result<void> append_receipts(const Ulid& conversation, std::span<const HookReceipt> receipts) = 0;
  // All receipts in the order of their appends; the first ones may have been removed by prune_receipts(). Stops early
  // when `visit` returns false. kNotFound, kCorrupt.
  virtual Result<void> receipts(const Ulid& conversation,
                                const std::function<bool(const HookReceipt&)>& visit) const = 0;

  // Removes at most `limit` receipts of before `before_ms`: of each conversation whose id is as old, the first ones, up
  // to one that is newer or damaged. Payloads that nothing else names go with them. All or none; returns how many.
  // Fewer than `limit`: no more are left. Conversations that began later cost nothing.
  virtual Result<std::uint64_t> prune_receipts(std::int64_t before_ms, std::uint32_t limit) = 0;

  // Records first..last (0 = the head) in order, each batch checked against its CRC and digests.
  // Stops early when `visit` returns false. kNotFound, kCorrupt.
  virtual Result<void> read(const Ulid& conversation, std::uint64_t first, std::uint64_t last,
                            const std::function<bool(const StoredRecord&)>& visit) const = 0;

  // Makes a conversation that begins as `from` was at sequence `at` (0 = its head): its own genesis, then the records
  // 2..at with their sequences and times, then a meta record with the title. All or none; afterwards the two are
  // independent, and either may be removed. Blobs are shared, receipts are not copied. `genesis` names the new
  // conversation; parent, parent_seq and parent_chain are filled in here. No lease is needed, because a log does not
  // change up to a sequence. Returns the new index. kNotFound: `from` does not exist; kInvalid: it has no sequence
  // `at`; kConflict: the new one exists; kCorrupt: a record to copy is broken.
  virtual Result<ConversationInfo> fork(const Ulid& from, std::uint64_t at, GenesisRecord genesis,
                                        std::string_view title) = 0;

  // The hash of the chain up to sequence `at` (0 = the head), as a fork's genesis names it. kNotFound; kInvalid: no
  // such sequence.
  virtual Result<Digest> chain(const Ulid& conversation, std::uint64_t at) const = 0;

  // Recomputes every hash of the chain from the first batch to the head. `visit`, if any, gets each verified batch.
  // kCorrupt names the first broken one.
  virtual Result<void> verify(const Ulid& conversation,
                              const std::function<void(const VerifiedBatch&)>& visit = {}) const = 0;

  virtual Result<ConversationInfo> info(const Ulid& conversation) const = 0;  // kNotFound
  // Newest update first.
  virtual Result<std::vector<ConversationInfo>> list(const ConversationQuery& query) const = 0;
  // The ids that begin with `prefix`, some characters of Ulid::text() in either case, in order; none for another text.
  virtual Result<std::vector<Ulid>> find_ids(std::string_view prefix, std::uint32_t limit) const = 0;
  // Removes log, receipts and index, and blobs that nothing else names; changes() tells the removal. kNotFound. kBusy
  // while another process or run holds the lease.
  virtual Result<void> remove(const Ulid& conversation) = 0;

  // Takes payloads out of the log, all or none: from then on a read of any revision, and a fork at any sequence, has
  // what takes their place. Each record keeps its kind, its digest and its place in the chain, and an erase record is
  // appended for it. The index is made again from the log, and changes() tells the conversation as removed and made
  // again. The bytes may still be in the file until wipe(). REQUIRES: the caller holds the lease. kConflict: the
  // revision differs; kInvalid: no such sequence, the genesis, or a payload that does not fit the record; nothing was
  // written then. kNotFound, kCorrupt.
  virtual Result<EraseReport> erase(const Ulid& conversation, std::uint64_t expected_revision,
                                    const EraseRequest& request) = 0;
  // Overwrites what the files hold besides the content of the store. Takes time linear in its size; others may read
  // meanwhile, and wait to write. A crash in it loses nothing.
  virtual Result<WipeReport> wipe() = 0;

  virtual Result<std::string> blob(const Digest& digest) const = 0;  // kNotFound

  // kBusy: the message names the process that holds it.
  virtual Result<std::unique_ptr<Lease>> lease(const Ulid& conversation) = 0;

  // ---- key spaces, one per plugin id

  // The names of all spaces, in byte order.
  virtual Result<std::vector<std::string>> key_spaces() const = 0;
  virtual Result<StoredKey> get_key(std::string_view space, std::string_view key) const = 0;
  // Keys with the prefix after `after`, in byte order, from one snapshot.
  virtual Result<std::vector<StoredKey>> scan_keys(std::string_view space, std::string_view prefix,
                                                   std::string_view after, std::uint32_t limit) const = 0;
  // Commits all or none; returns the new version of the changed keys. kConflict, kDenied (kSpaceBytesMax) change
  // nothing.
  virtual Result<std::uint64_t> commit_keys(std::string_view space, std::span<const KeyOp> ops) = 0;

  // The feed of changes after `cursor`, oldest first: conversations by their newest change, and those that were
  // removed. A follower takes up `removed` first: a conversation in both was removed and then made again, or something
  // was erased from it, so that a follower drops what it has made of it. Both are empty at the end of the feed alone.
  struct Changes {
    std::vector<ConversationInfo> changed;
    std::vector<Ulid> removed;
    std::uint64_t next = 0;  // the cursor that continues
    // Removals after `cursor` may be missing, because the store keeps the newest kRemovalsKept (log_rules.h), and those
    // by agentd since it keeps any: the follower compares what it has with list().
    bool removals_lost = false;
  };
  // `limit` is of both together.
  virtual Result<Changes> changes(std::uint64_t cursor, std::uint32_t limit) const = 0;

  virtual Result<StoreStats> stats() const = 0;
};

// Keeps everything in this process; for tests, and for `run --no-save`.
std::unique_ptr<Store> make_memory_store(const Clock& clock);

}  // namespace agentd
