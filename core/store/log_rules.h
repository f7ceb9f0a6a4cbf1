// SPDX-License-Identifier: Apache-2.0
#pragma once
// log_rules.h - the rules that all stores share: what may be appended, how a log is read and verified, which
// conversations a query selects, and when a change of keys is a conflict.
//
// A store keeps bytes; these functions interpret them, so that two stores cannot differ.
//
// Threading: pure functions.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/ids.h"
#include "core/base/result.h"
#include "core/store/batch.h"
#include "core/store/store.h"

namespace agentd {

// The format of a store on disk; a higher one is refused.
inline constexpr std::uint32_t kStoreFormat = 1;

// ---- appending

// A hashed append that lacks only the hash of the batch before.
struct PreparedAppend {
  std::vector<StoredRecord> stored;
  Batch batch;                                             // payloads borrow from `stored`
  std::vector<std::pair<Digest, std::string_view>> blobs;  // one per mention; borrowed as well
  PreparedAppend() = default;
  PreparedAppend(PreparedAppend&&) = default;
  PreparedAppend& operator=(PreparedAppend&&) = default;
};

// `blobs` must outlive the result. kInvalid: no records, too many or too long ones, a log that does
// not start with a genesis of this conversation, or a genesis elsewhere.
Result<PreparedAppend> prepare_append(const Ulid& conversation, std::uint64_t expected_revision,
                                      std::span<const Record> records, std::span<const std::string> blobs,
                                      std::int64_t time_ms);

// A receipt in its stored form, and its payload.
struct PreparedReceipt {
  std::string json;
  std::optional<std::pair<Digest, std::string_view>> payload;
};
// `receipts` must outlive the result. kInvalid: a payload does not match its digest.
Result<std::vector<PreparedReceipt>> prepare_receipts(std::span<const HookReceipt> receipts);
// The bytes of receipts and their payloads.
std::size_t bytes_of(const std::vector<PreparedReceipt>& receipts);
// The blob that a stored receipt names; nullopt when it names none or is unreadable.
std::optional<Digest> payload_of_receipt(std::string_view json);
// The time of a stored receipt; nullopt when it is unreadable.
std::optional<std::int64_t> time_of_receipt(std::string_view json);
// By its id. A conversation has no receipt that is older than itself.
bool began_before(const Ulid& conversation, std::int64_t time_ms);

// Folds the records into the index. kInvalid for an unreadable record, which must not get into a log.
Result<void> fold_all(ConversationInfo& info, std::span<const StoredRecord> records);

Error stale_revision(const Ulid& conversation, std::uint64_t is, std::uint64_t expected);
Error no_such_conversation(const Ulid& conversation);
Error no_such_blob(const Digest& digest);
Error no_such_key(std::string_view space, std::string_view key);

// ---- reading

struct LogHead {
  std::uint64_t revision = 0;
  Digest chain{};
};

// The source of one conversation's batches.
class BatchSource {
 public:
  virtual ~BatchSource() = default;
  // Some batches in order, starting with the one that contains `seq`; empty when no batch does.
  virtual Result<std::vector<std::string>> batches(std::uint64_t seq) const = 0;
  virtual Result<std::string> blob(const Digest& digest) const = 0;
};

// Finds the texts that take the place of erased payloads. Keeps the batch that it has read last.
class Replacements {
 public:
  // `source` outlives it.
  explicit Replacements(const BatchSource& source) : source_(source) {}
  Replacements(const Replacements&) = delete;
  Replacements& operator=(const Replacements&) = delete;

  // The replacement of the payload with that digest, by the erase record `erased_by`; the payload of that record
  // may itself be erased. kCorrupt: there is no such record, or it names another payload.
  Result<std::string> find(std::uint64_t seq, const Digest& digest, std::uint64_t erased_by);
  // The sequence of the record that has erased `seq` by now; 0 = none has.
  Result<std::uint64_t> eraser_of(std::uint64_t seq);

 private:
  Result<BatchRecord> record_at(std::uint64_t seq);

  const BatchSource& source_;
  std::string bytes_;
  Batch batch_;  // borrows from bytes_; without records until one was read
};

// A record of a batch with its payload, wherever that is stored, checked against its digest; of an erased one what
// stands in its place. kCorrupt.
Result<StoredRecord> unpack_record(const BatchSource& source, const Batch& batch, std::size_t index,
                                   Replacements& replaced);

// Records first..last (0 = the head), each batch checked. `last` beyond the head means the head.
Result<void> read_log(const BatchSource& source, const Ulid& conversation, const LogHead& head, std::uint64_t first,
                      std::uint64_t last, const std::function<bool(const StoredRecord&)>& visit);

// Verifies every hash of the log up to the head's chain; `visit` as in Store::verify.
Result<void> verify_log(const BatchSource& source, const Ulid& conversation, const LogHead& head,
                        const std::function<void(const VerifiedBatch&)>& visit = {});

// The batch that has `seq`, as Store::verify passes it. kNotFound: the log has no such sequence.
Result<VerifiedBatch> batch_at(const BatchSource& source, const Ulid& conversation, const LogHead& head,
                               std::uint64_t seq);

// The chain up to `at`; 0 = the head. kInvalid: the log has no such sequence.
Result<Digest> chain_at(const BatchSource& source, const Ulid& conversation, const LogHead& head, std::uint64_t at);

// ---- forks

// A fork that is read and hashed: everything that one transaction has to write.
struct PreparedFork {
  std::vector<std::pair<std::uint64_t, std::string>> batches;  // first sequence, encoded
  std::map<Digest, std::uint64_t> mentions;  // blobs that they name, and how often; the store has them
  // Blobs that the fork brings along: payloads of erase records that follow `at` in the parent.
  std::vector<std::pair<Digest, std::string>> blobs;
  LogHead parent;  // at which the parent was read
  LogHead head;
  ConversationInfo info;
};
// See Store::fork. Checks every copied record against its digest and every batch against the chain.
Result<PreparedFork> prepare_fork(const BatchSource& source, const Ulid& from, const LogHead& head, std::uint64_t at,
                                  GenesisRecord genesis, std::string_view title, std::int64_t time_ms);
// A blob that a fork shares was removed with its parent in the meantime.
Error lost_blob(const Ulid& from);
// True if the batch has an erase record: a fork that was read before it is read again.
bool erases(const Batch& batch);

// ---- lists and the feed of changes

// The newest removals that the feed of changes tells; of some 40 bytes on disk each.
inline constexpr std::uint64_t kRemovalsKept = 100'000;

bool matches(const ConversationInfo& info, const ConversationQuery& query);
// The first and the last id whose text begins with `prefix`; nullopt when no id does.
struct IdRange {
  Ulid first, last;
};
std::optional<IdRange> ids_that_begin(std::string_view prefix);
// 0 means the default of 100, as in the plugin ABI.
std::uint32_t limit_or_default(std::uint32_t limit);

// ---- keys

inline constexpr std::size_t kSpaceAndKeyBytesMax = 510;
inline constexpr std::size_t kKeyValueBytesMax = 64u << 20;

// kInvalid: an empty space or one with a zero byte, or names that are too long.
Result<void> check_key(std::string_view space, std::string_view key);

// The final effect of a commit on each key; nullopt erases.
using KeyChanges = std::map<std::string, std::optional<std::string_view>, std::less<>>;
// The current version of a key; 0 = it is missing.
using VersionOf = std::function<Result<std::uint64_t>(std::string_view key)>;
// All expectations refer to the state before the commit; the later of two changes applies. kConflict names the key.
// Erasing a missing key is not a change.
Result<KeyChanges> plan_keys(std::string_view space, std::span<const KeyOp> ops, const VersionOf& version_of);

inline constexpr std::uint64_t kCommitBytesMax = 65ull << 20;  // of keys and values; the largest value has 64 MiB
inline constexpr std::uint64_t kSpaceBytesMax = 256ull << 20;  // of all keys and values
// The current bytes of a key and its value; 0 = it is missing.
using BytesOf = std::function<Result<std::uint64_t>(std::string_view key)>;
// The bytes of a space of `held` bytes after the changes. kDenied: more than the space may have, or too much in one
// commit; shrinking a space is always allowed.
Result<std::uint64_t> plan_bytes(std::string_view space, const KeyChanges& changes, std::uint64_t held,
                                 const BytesOf& bytes_of);

}  // namespace agentd
