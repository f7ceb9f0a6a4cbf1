// SPDX-License-Identifier: Apache-2.0
#pragma once
// format.h - the tree is as clang-format has it.
//
// Threading: runs a program and waits for it.

#include <filesystem>
#include <string>

#include "tests/tidy/tree.h"

namespace tidy {

// The program of the version that formats this tree, or empty: versions differ in what they make of the same file.
std::string clang_format();
// Files that it would change, by the .clang-format of the root. REQUIRES: clang_format() is there.
Findings unformatted(const std::filesystem::path& root);

}  // namespace tidy
