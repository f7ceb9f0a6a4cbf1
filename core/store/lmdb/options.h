// SPDX-License-Identifier: Apache-2.0
#pragma once
// options.h - where a store on LMDB lies, and how it is opened.
//
// Threading: a value.

#include <cstdint>
#include <functional>
#include <string>

#include "core/base/result.h"

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

}  // namespace agentd
