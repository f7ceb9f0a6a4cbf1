// SPDX-License-Identifier: Apache-2.0
#pragma once
// safe_path.h - opens only files that no other user could have put there.
//
// The path is walked from "/", and every component must belong to the user or to root and be writable by no one else; a
// sticky directory of root's such as /tmp may be passed through. The walk holds descriptors, not names, so what is
// opened is what was checked.
//
// Threading: pure functions.

#include <sys/stat.h>
#include <sys/types.h>

#include <string>

#include "core/base/file.h"
#include "core/base/result.h"

namespace agentd {

// kNotFound; kDenied names the unsafe component and the fix. Symbolic links on the way are followed if they belong to
// the user or to root.
Result<UniqueFd> open_safe_directory(const std::string& path, uid_t user);

struct SafeFile {
  UniqueFd fd;
  struct stat info {};
};

// Opens a regular file of an open directory; `path` is for messages. kDenied as above and for symbolic links; kInvalid
// for anything but a regular file, and for a `name` with a slash, whose path would not be checked.
Result<SafeFile> open_safe_file(int directory, const std::string& name, const std::string& path, uid_t user);

// Makes the directory with mode 0700 if it is missing. kDenied for a link, since chmod would change its target.
Result<void> make_private_directory(const std::string& path);

}  // namespace agentd
