// SPDX-License-Identifier: Apache-2.0
#pragma once
// lmdb_store.h - the embedded default: a Store in one LMDB environment.
//
// LMDB runs in its default, fully synchronous mode; no flag that trades durability is ever set. The
// directory is made 0700, the parent synced. A store of a newer format is refused.
//
// Threading: thread-safe; several processes may open one directory.

#include <memory>
#include <string>

#include "core/base/clock.h"
#include "core/base/result.h"
#include "core/store/lmdb/options.h"
#include "core/store/store.h"

namespace agentd {

// A new store is made only in a directory without one, and appears complete. A store that was not closed normally
// (clean_mark.h) is checked before LMDB maps it. kInvalid: not a directory, a remote file system, or written by a newer
// agentd (the message says so); kDenied: no rights; kCorrupt: damaged, or not an LMDB store.
Result<std::unique_ptr<Store>> open_lmdb_store(const LmdbOptions& options, const Clock& clock);

// True if open_lmdb_store() would not check the store now: it was closed normally, is open in some process, or does
// not exist.
bool opens_unchecked(const std::string& directory);

}  // namespace agentd
