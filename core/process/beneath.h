// SPDX-License-Identifier: Apache-2.0
#pragma once
// beneath.h - opens files below a directory; the kernel checks each path.
//
// openat2(2) with RESOLVE_BENEATH checks during its walk: "..", absolute links and links that lead out fail inside the
// kernel, whatever another process renames at the same time.
//
// Threading: thread-safe.

#include <cstdint>
#include <string>

#include "core/base/file.h"
#include "core/base/result.h"

namespace agentd {

struct OpenOptions {
  std::uint64_t flags = 0;   // O_; O_CLOEXEC is added
  bool follow_links = true;  // links that stay below the directory
};

// Opens `path`, relative to `directory`; messages call it `shown`. kDenied when it leads out, kBusy when concurrent
// renames kept the kernel from deciding, kUnavailable without openat2.
Result<UniqueFd> open_beneath(int directory, const std::string& path, const OpenOptions& options,
                              const std::string& shown);

// kUnavailable with a sentence when the kernel or a sandbox around the process lacks openat2.
Result<void> check_openat2();

}  // namespace agentd
