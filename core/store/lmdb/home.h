// SPDX-License-Identifier: Apache-2.0
#pragma once
// home.h - may a store live in this directory, and what lies there already.
//
// LMDB maps the file into memory and trusts it, so everything that can be refused by looking is
// refused before LMDB sees the directory, and nothing is written on the way.
//
// Threading: pure functions on the file system.

#include <string>
#include <string_view>

#include "core/base/file.h"
#include "core/base/result.h"
#include "core/store/lmdb/lmdb_store.h"

namespace agentd {

// "NFS" for the f_type of a file system whose locks or maps cannot be trusted; empty for a local
// one.
std::string_view remote_file_system(long f_type);

enum class HomeState { kEmpty, kStore };
// Checks directory and data file; makes the directory (0700, its parents synced) if it may.
// kNotFound, kInvalid, kDenied, kCorrupt as open_lmdb_store.
Result<HomeState> prepare_home(const LmdbOptions& options);

// Marks the store as open in this process for as long as the descriptor lives. kBusy when it is so
// already: LMDB breaks its own locks when one process opens a file twice.
Result<UniqueFd> claim_process(const std::string& directory);

Result<void> sync_directory(const std::string& path);

}  // namespace agentd
