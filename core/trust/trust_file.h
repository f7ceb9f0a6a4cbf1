// SPDX-License-Identifier: Apache-2.0
#pragma once
// trust_file.h - a file of the user's consents: outside every workspace, of mode 0600, rewritten as a whole and renamed
// into place under a lock.
//
// Threading: pure functions; several processes may use one file.

#include <functional>
#include <optional>
#include <string>

#include <sys/types.h>

#include "core/base/result.h"

namespace agentd {

// nullopt: there is no such file. kInvalid: the path is not absolute; kDenied: file or directory is unsafe
// (safe_path.h).
Result<std::optional<std::string>> read_trust_file(const std::string& file, uid_t user);

// Replaces the text under the lock, so that changes of other processes stay; makes the directory where there is none.
// `change` gets the present text, and returns the next one, or the error with which nothing is written. kBusy: another
// process keeps the lock.
Result<void> change_trust_file(const std::string& file, uid_t user,
                               const std::function<Result<std::string>(const std::optional<std::string>&)>& change);

bool is_sha256(std::string_view text);

}  // namespace agentd
