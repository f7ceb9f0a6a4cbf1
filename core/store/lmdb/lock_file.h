// SPDX-License-Identifier: Apache-2.0
#pragma once
// lock_file.h - lock.mdb, the file that LMDB's processes find each other by.
//
// LMDB makes the file without blocks and maps it, so that on a full disk the first access would raise SIGBUS: its
// blocks are made before. LMDB's lock on it is one of POSIX, which ends as soon as anything in the process closes any
// descriptor of the file, such as a tool that reads a home directory. The next process would then take itself for the
// first one, and both would write at once. So a lock of an open file description is held next to it.
//
// Threading: thread-safe.

#include <string>
#include <string_view>

#include "core/base/file.h"
#include "core/base/result.h"

namespace agentd {

inline constexpr unsigned kReadersMax = 510;  // concurrent read transactions of all processes

// True if LMDB can use a lock file there; on a medium that cannot be written it does without.
bool may_lock(const std::string& directory);

// Makes the file if it is missing, and its blocks; never changes its size or contents, because another process may have
// it open. kUnavailable on a full disk, unless the part that LMDB always needs exists. REQUIRES: no environment of this
// process is open, since closing a file releases the process's locks on it.
Result<void> allocate_lock_file(const std::string& directory);

// Keeps other processes from taking the file for their own, as long as the result exists: it is closed after the
// environment. It locks nothing where the file system has no such locks. REQUIRES: LMDB has opened the file, and holds
// its own lock.
UniqueFd share_lock_file(const std::string& directory);

// `doing` such as "opening the store /x".
Error no_space(std::string_view doing);

}  // namespace agentd
