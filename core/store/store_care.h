// SPDX-License-Identifier: Apache-2.0
#pragma once
// store_care.h - a store on disk looked after: checked, copied, and saved from a damaged disk.
//
// Threading: functions of the file system. REQUIRES: this process does not have the store open.

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/clock.h"
#include "core/base/result.h"

namespace agentd {

struct StoreFinding {
  std::string conversation;  // its id; empty = none can be named
  std::uint64_t first = 0,
                last = 0;  // sequences; last 0 = to the end, first 0 = no sequence can be named
  std::string what;        // "the batch does not match its checksum"
};
// "conversation 01J..., sequences 12 to 15: the batch ..."
std::string text_of(const StoreFinding& finding);

struct StoreReport {
  std::uint64_t pages = 0, conversations = 0, records = 0, blobs = 0, receipts = 0, keys = 0;
  std::vector<StoreFinding> damage;  // of a check; empty = all is well
  std::uint64_t more = 0;            // findings beyond those that are kept
};

// Every page, every batch with its checksum and its place in the chain, every digest of a record
// and a blob, and every row of every index against the log. An error says that there is nothing to
// check: kNotFound, kInvalid, kDenied, kUnavailable. A file that is no store any more is a finding.
Result<StoreReport> check_store(const std::string& directory);

struct SalvageReport {
  StoreReport kept;                // what the new store holds; `damage` is empty
  std::vector<StoreFinding> lost;  // by conversation
  std::uint64_t more = 0;
};
// Makes a store in `to`, a directory that does not exist yet, of all that can be read and verified
// in `from`. Of a conversation everything before the first damaged batch is kept; indexes are made
// anew from the logs. kConflict: `to` exists. The old store is not changed.
Result<SalvageReport> salvage_store(const std::string& from, const std::string& to, const Clock& clock);

// A copy of one moment of the store, while other processes write to it, in `to`, a directory that
// does not exist yet; synced, and checked before this returns. kConflict: `to` exists; kCorrupt:
// the store is damaged.
Result<StoreReport> backup_store(const std::string& from, const std::string& to);

}  // namespace agentd
