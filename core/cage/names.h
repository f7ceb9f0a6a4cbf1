// SPDX-License-Identifier: Apache-2.0
#pragma once
// names.h - the names in a directory.
//
// Threading: thread-safe.

#include <string>
#include <vector>

namespace agentd::cage {

// Sorted, without "." and ".."; none where it is no directory or cannot be read.
std::vector<std::string> names_in(const std::string& directory);

}  // namespace agentd::cage
