// SPDX-License-Identifier: Apache-2.0
#pragma once
// recipe_files.h - files of recipes, read as safely as hooks are, and what trust says of a
// project's.
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

// The names of the files NAME.md of a directory, sorted; none where there is no directory.
std::vector<std::string> recipe_files(const std::string& directory);

// The bytes of one. kNotFound; kDenied when somebody else may write the file or the way to it, as
// for hooks; kInvalid when it is no regular file, larger than 1 MiB, or has a control character in
// its name.
Result<std::string> read_recipe_file(const std::string& directory, const std::string& file, uid_t user);

// "project/recipes/NAME", under which trust knows a project's NAME.md.
std::string project_recipe_name(std::string_view file);

// Why the bytes of a project's recipe may not be used yet, and what to do; empty when they are
// trusted.
struct Untrusted {
  std::string why_not{};
  bool changed = false;  // other bytes were trusted before
};
Result<Untrusted> why_untrusted(const std::string& directory, const std::string& file, std::string_view bytes,
                                const std::string& project_root, const std::string& trust_file, uid_t user,
                                const Clock& clock);

}  // namespace agentd
