// SPDX-License-Identifier: Apache-2.0
#pragma once
// whole_log.h - logs as they are, batch by batch: what a copy in a file takes out of a store, and brings into one.
//
// A log that is brought keeps its times, its batches and its erasures, so that its chain is the one that it had.
//
// Threading: WholeLogs is thread-safe, as its store is; the rest are pure functions.

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/store/batch.h"
#include "core/store/store.h"

namespace agentd {

// A complete log with what its batches name.
struct WholeLog {
  std::vector<VerifiedBatch> batches;   // from sequence 1 on; `previous` and `chain` are not read
  std::map<Digest, std::string> texts;  // the attached blobs
};

// A part of the stores of agentd besides Store.
class WholeLogs {
 public:
  virtual ~WholeLogs() = default;

  // The batch that has the sequence, its payloads and attached digests checked. kNotFound: there is no such
  // conversation or sequence; kCorrupt. A batch does not change, unless something is erased from it.
  virtual Result<VerifiedBatch> batch(const Ulid& conversation, std::uint64_t seq) const = 0;

  // Adds a conversation with that log and the keys, all or none. REQUIRES: the caller holds the lease. kConflict: the
  // conversation exists; kInvalid: the log does not begin with a genesis of it, has a gap, an unreadable record, an
  // erasure that no record explains, or an attached blob that is missing; kDenied: a space of keys is full;
  // kUnavailable.
  virtual Result<ConversationInfo> bring(const Ulid& conversation, const WholeLog& log,
                                         std::span<const KeyPut> keys = {}) = 0;
};

// The WholeLogs of the store; null: it has none.
WholeLogs* whole_logs(Store& store);
const WholeLogs* whole_logs(const Store& store);

// ---- the rules

// The headers of a batch of a whole log, from which its chain is computed; `seq` is its first one. Payloads borrow from
// `from`.
Batch batch_of(const VerifiedBatch& from, std::uint64_t seq, const Digest& previous);
// Each erased record is followed by an erase record that names it and has its new payload. kInvalid names the record.
Result<void> check_erasures(const WholeLog& log);

// Everything that one transaction has to write. Borrows from the log.
struct PreparedLog {
  std::vector<std::pair<std::uint64_t, std::string>> batches;  // first sequence, encoded
  std::vector<std::pair<Digest, std::string_view>> blobs;      // one per mention
  std::uint64_t revision = 0;
  Digest chain{};
  ConversationInfo info;
};
// See WholeLogs::bring.
Result<PreparedLog> prepare_log(const Ulid& conversation, const WholeLog& log);

}  // namespace agentd
