// SPDX-License-Identifier: Apache-2.0
#pragma once
// text.h - how a file looks: license, guard, length, width, notes to oneself.
//
// Threading: pure functions over the files.

#include <cstddef>
#include <filesystem>

#include "tests/tidy/tree.h"

namespace tidy {

// First line without the SPDX identifier.
Findings missing_licenses(const std::filesystem::path& root);
// Headers of C++ without "#pragma once"; a header of C begins with "/*".
Findings missing_guards(const std::filesystem::path& root);
// Files of more than 1,000 lines.
Findings long_files(const std::filesystem::path& root);
// Lines of more than 120 columns.
Findings long_lines(const std::filesystem::path& root);
// Lines that take a finding of clang-tidy or of the thread-safety analysis back: each of them from `most` on, and those
// that give no reason behind a colon.
Findings suppressions(const std::filesystem::path& root, std::size_t most);
// Notes to oneself.
Findings leftovers(const std::filesystem::path& root);

}  // namespace tidy
