// SPDX-License-Identifier: Apache-2.0
#pragma once
// mentions.h - comments and pages name files that exist.
//
// Threading: pure functions over the files.

#include <filesystem>

#include "tests/tidy/tree.h"

namespace tidy {

// Names of sources and headers in comments of the code and in the pages of the root and of docs that no file has: a
// path from the root must exist, a bare name or a shortened path must be the name of some file. Names of system headers
// ("linux/magic.h") are the caller's to leave out.
Findings missing_mentions(const std::filesystem::path& root);

}  // namespace tidy
