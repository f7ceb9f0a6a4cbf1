// SPDX-License-Identifier: Apache-2.0
#pragma once
// verify.h - a module loaded and negotiated with in a process of its own: what `--plugins=verify` adds to the
// manifests.
//
// No instance is made. A module that crashes, hangs or ends its process gets that as its verdict; ours goes on.
//
// Threading: REQUIRES a process of one thread (fork.h).

#include <string>

#include "core/base/clock.h"
#include "core/native/manifest.h"

namespace agentd::validation {

struct VerifyRequest {
  std::string path;
  std::string digest;  // of the bytes that were looked at; empty = any
  std::string private_copy_directory;
  Milliseconds time{5'000};
};

// Errors are whole sentences that begin with the path.
Result<void> verify_module(const VerifyRequest& request, const Manifest& manifest, const Clock& clock);

}  // namespace agentd::validation
