// SPDX-License-Identifier: Apache-2.0
#pragma once
// beneath.h - opening files below a directory, with the kernel as the judge.
//
// openat2(2) with RESOLVE_BENEATH decides while it walks: "..", absolute links and links that lead
// out fail inside the kernel, whatever another process renames meanwhile.
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

// Opens `path`, relative to `directory`; `shown` is what messages call it. kDenied when it leads
// out, kBusy when renames kept the kernel from being sure, kUnavailable when there is no openat2.
Result<UniqueFd> open_beneath(int directory, const std::string& path, const OpenOptions& options,
                              const std::string& shown);

// kUnavailable with a sentence when this kernel or a sandbox around it has no openat2.
Result<void> check_openat2();

}  // namespace agentd
