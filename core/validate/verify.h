// SPDX-License-Identifier: Apache-2.0
#pragma once
// verify.h - loads a module and negotiates with it in a process of its own, for `--plugins=verify`.
//
// No instance is made. A crash, a hang or an exit of the module becomes its verdict; this process continues.
//
// Threading: REQUIRES a process of one thread (fork.h).

#include <string>

#include "core/base/clock.h"
#include "core/native/manifest.h"

namespace agentd::validation {

struct VerifyRequest {
  std::string path;
  std::string digest;  // of the bytes that were checked; empty = any
  std::string private_copy_directory;
  Milliseconds time{5'000};
};

// Errors are complete sentences that begin with the path.
Result<void> verify_module(const VerifyRequest& request, const Manifest& manifest, const Clock& clock);

}  // namespace agentd::validation
