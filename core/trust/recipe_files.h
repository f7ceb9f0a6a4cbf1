// SPDX-License-Identifier: Apache-2.0
#pragma once
// recipe_files.h - reads recipe files as safely as hooks, and checks that a project's recipe is trusted.
//
// Threading: pure functions on the file system.

#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "core/base/clock.h"
#include "core/base/result.h"
#include "core/trust/trust_store.h"

namespace agentd {

// Names of the files NAME.md in the directory, sorted; empty if there is no directory.
std::vector<std::string> recipe_files(const std::string& directory);

// The bytes of one recipe. kNotFound; kDenied if another user may write the file or a directory above it, as for hooks;
// kInvalid if it is not a regular file, exceeds 1 MiB, or has a control character in its name.
Result<std::string> read_recipe_file(const std::string& directory, const std::string& file, uid_t user);

// "project/recipes/NAME", the name of a project's NAME.md in the trust store.
std::string project_recipe_name(std::string_view file);

// Why a project's recipe may not be used yet, and what to do; empty if its bytes are trusted.
struct Untrusted {
  std::string why_not{};
  bool changed = false;  // other bytes were trusted before
};
Result<Untrusted> why_untrusted(const std::string& directory, const std::string& file, std::string_view bytes,
                                const std::string& project_root, const std::string& trust_file, uid_t user,
                                const Clock& clock);

}  // namespace agentd
