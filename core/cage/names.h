// SPDX-License-Identifier: Apache-2.0
#pragma once
// names.h - the names in a directory.
//
// Threading: thread-safe.

#include <string>
#include <vector>

namespace agentd::cage {

// Sorted, without "." and ".."; none where it is no directory, cannot be read, or has a link in its path (physical.h).
std::vector<std::string> names_in(const std::string& directory);
// The same of an open one, also by O_PATH, which stays with the caller.
std::vector<std::string> names_in(int directory);

}  // namespace agentd::cage
