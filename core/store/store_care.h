// SPDX-License-Identifier: Apache-2.0
#pragma once
// store_care.h - checks, copies and salvages a store on disk.
//
// Threading: functions of the file system. REQUIRES: this process does not have the store open.

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/clock.h"
#include "core/base/result.h"

namespace agentd {

struct StoreFinding {
  std::string conversation;  // its id; empty = unknown
  std::uint64_t first = 0,
                last = 0;  // last 0 = to the end, first 0 = no sequence is known
  std::string what;        // "the batch does not match its checksum"
};
// "conversation 01J..., sequences 12 to 15: the batch ..."
std::string text_of(const StoreFinding& finding);

struct StoreReport {
  std::uint64_t pages = 0, conversations = 0, records = 0, blobs = 0, receipts = 0, keys = 0;
  std::vector<StoreFinding> damage;  // found by a check; empty = the store is intact
  std::uint64_t more = 0;            // findings beyond the kept ones
};

// Checks every page, every batch with its checksum and its place in the chain, every digest of a record and a blob, and
// every row of every index against the log. An error says why the check is impossible: kNotFound, kInvalid, kDenied,
// kUnavailable. A file that is no longer a store is a finding.
Result<StoreReport> check_store(const std::string& directory);

struct SalvageReport {
  StoreReport kept;                // the content of the new store; `damage` is empty
  std::vector<StoreFinding> lost;  // by conversation
  std::uint64_t more = 0;
};
// Makes a store in `to`, a directory that does not exist yet, of everything readable and verified in `from`. A
// conversation keeps everything before its first damaged batch; indexes are rebuilt from the logs. kConflict: `to`
// exists. The old store is not changed.
Result<SalvageReport> salvage_store(const std::string& from, const std::string& to, const Clock& clock);

// Copies one moment of the store, while other processes write to it, to `to`, a directory that does not exist yet. The
// copy is synced and checked before this returns. kConflict: `to` exists; kCorrupt: the store is damaged.
Result<StoreReport> backup_store(const std::string& from, const std::string& to);

}  // namespace agentd
