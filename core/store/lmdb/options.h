// SPDX-License-Identifier: Apache-2.0
#pragma once
// options.h - where a store on LMDB lies, and how it is opened.
//
// Threading: a value.

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "core/base/result.h"

namespace agentd {

// The work of a store's writer in total, for benchmarks.
struct WriterUse {
  std::uint64_t (*now_ns)() = nullptr;  // read before and after the changes of a transaction; required
  std::atomic<std::uint64_t> commits = 0, changes = 0;
  std::atomic<std::uint64_t> changes_ns = 0;  // their checks and puts, without the beginning of the transaction and its
                                              // commit
};

struct LmdbOptions {
  std::string directory;
  bool create = true;                         // false: kNotFound when it is missing
  bool read_only = false;                     // opens a store on a read-only medium
  std::uint64_t map_bytes = 64ull << 20;      // first size of the map; grows automatically
  std::uint64_t map_bytes_max = 64ull << 30;  // kUnavailable beyond
  // Runs the first check of a store that was not closed normally in a separate process, and returns its result:
  // kCorrupt when the check found damage or crashed. Empty: the check runs in this process.
  std::function<Result<void>(const std::function<Result<void>()>& look)> apart{};
  std::function<void()> appended{};  // called after a durable append, on the thread of whoever made it; does not block
  WriterUse* use = nullptr;          // outlives the store; nullptr: nothing is counted
};

}  // namespace agentd
