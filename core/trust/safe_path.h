// SPDX-License-Identifier: Apache-2.0
#pragma once
// safe_path.h - opening what nobody else could have put there.
//
// A directory is walked from "/", one component after the other, and every component must belong to the
// user or to root and be writable by nobody else; a sticky directory of root's such as /tmp may be
// passed through. What is opened is what was checked: the walk holds descriptors, not names.
//
// Threading: pure functions.

#include <sys/stat.h>
#include <sys/types.h>

#include <string>
#include <string_view>

#include "core/base/file.h"
#include "core/base/result.h"

namespace agentd {

// kNotFound; kDenied names the component that is unsafe and what to do about it. Symbolic links on the
// way are followed when they belong to the user or to root.
Result<UniqueFd> open_safe_directory(const std::string& path, uid_t user);

struct SafeFile {
  UniqueFd fd;
  struct stat info {};
};

// A regular file of an open directory, `path` for messages. kDenied as above and for symbolic links;
// kInvalid for anything that is no regular file, and for a `name` with a slash, whose way is not checked.
Result<SafeFile> open_safe_file(int directory, const std::string& name, const std::string& path, uid_t user);

// A directory of mode 0700, made where it is missing. kDenied for a link: the mode is nobody else's to change.
Result<void> make_private_directory(const std::string& path);

}  // namespace agentd
