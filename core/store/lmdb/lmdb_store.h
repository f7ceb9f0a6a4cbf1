// SPDX-License-Identifier: Apache-2.0
#pragma once
// lmdb_store.h - the embedded default: a Store in one LMDB environment.
//
// LMDB runs in its default, fully synchronous mode; no flag that trades durability is ever set. The
// directory is made 0700, the parent synced. A store of a newer format is refused.
//
// Threading: thread-safe; several processes may open one directory.

#include <functional>
#include <memory>
#include <string>

#include "core/base/clock.h"
#include "core/base/result.h"
#include "core/store/store.h"

namespace agentd {

struct LmdbOptions {
  std::string directory;
  bool create = true;                         // false: kNotFound when it is missing
  bool read_only = false;                     // opens a store on a read-only medium
  std::uint64_t map_bytes = 64ull << 20;      // first size of the map; grows automatically
  std::uint64_t map_bytes_max = 64ull << 30;  // kUnavailable beyond
  // Runs the first check of a store that was not closed normally in a separate process, and returns its result:
  // kCorrupt when the check found damage or crashed. Empty: the check runs in this process.
  std::function<Result<void>(const std::function<Result<void>()>& look)> apart{};
};

// A new store is made only in a directory without one, and appears complete. A store that was not closed normally
// (clean_mark.h) is checked before LMDB maps it. kInvalid: not a directory, a remote file system, or written by a newer
// agentd (the message says so); kDenied: no rights; kCorrupt: damaged, or not an LMDB store.
Result<std::unique_ptr<Store>> open_lmdb_store(const LmdbOptions& options, const Clock& clock);

}  // namespace agentd
