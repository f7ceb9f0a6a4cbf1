// SPDX-License-Identifier: Apache-2.0
#pragma once
// lock_file.h - lock.mdb, which LMDB makes without blocks and maps: on a full disk the first look at it would be a
// SIGBUS. It gets its blocks before LMDB opens it.
//
// Threading: thread-safe.

#include <string>
#include <string_view>

#include "core/base/result.h"

namespace agentd {

inline constexpr unsigned kReadersMax = 510;  // transactions that read at one moment, of all processes

// Whether LMDB can use a lock file there: on a medium that cannot be written it does without.
bool may_lock(const std::string& directory);

// Makes the file unless it is there, and its blocks; never changes its size or contents, so another process may have
// it open. kUnavailable on a full disk, unless the part is there that LMDB always needs. Only where no environment of
// this process is open: closing a file lets go of the locks that the process has on it.
Result<void> allocate_lock_file(const std::string& directory);

// `doing` such as "opening the store /x".
Error no_space(std::string_view doing);

}  // namespace agentd
