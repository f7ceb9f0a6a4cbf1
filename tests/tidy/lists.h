// SPDX-License-Identifier: Apache-2.0
#pragma once
// lists.h - what must be named somewhere: tests in the build, folders in the README above them.
//
// Threading: pure functions over the files.

#include <filesystem>

#include "tests/tidy/tree.h"

namespace tidy {

// Sources below tests that no CMakeLists.txt of their folder or one above names.
Findings unregistered_tests(const std::filesystem::path& root);
// First-level folders whose README.md does not have a line for each of their subfolders.
Findings unlisted_folders(const std::filesystem::path& root);

}  // namespace tidy
