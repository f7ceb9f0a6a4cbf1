// SPDX-License-Identifier: Apache-2.0
#pragma once
// home.h - checks whether a store may be in this directory, and what the directory contains.
//
// LMDB maps the file into memory and trusts it, so everything that can be refused by a check is refused before LMDB
// opens the directory, and without writing.
//
// Threading: pure functions on the file system.

#include <string>
#include <string_view>

#include "core/base/file.h"
#include "core/base/result.h"
#include "core/store/lmdb/options.h"

namespace agentd {

// "NFS" for the f_type of a file system whose locks or maps are unreliable; empty for a local one.
std::string_view remote_file_system(long f_type);

enum class HomeState { kEmpty, kStore };
// Checks directory and data file; makes the directory (0700, its parents synced) if allowed. kNotFound, kInvalid,
// kDenied, kCorrupt as open_lmdb_store.
Result<HomeState> prepare_home(const LmdbOptions& options);

// Marks the store as open in this process as long as the descriptor exists. kBusy when it already is: LMDB breaks its
// own locks when one process opens a file twice.
Result<UniqueFd> claim_process(const std::string& directory);

Result<void> sync_directory(const std::string& path);

}  // namespace agentd
