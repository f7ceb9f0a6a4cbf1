// SPDX-License-Identifier: Apache-2.0
#pragma once
// names.h - the names in a directory.
//
// Threading: thread-safe.

#include <string>
#include <vector>

namespace agentd::cage {

// Sorted, without "." and "..", of an open directory, also by O_PATH, which stays with the caller; none where it cannot
// be read. One that its owner has closed is listed as well.
std::vector<std::string> names_in(int directory);

}  // namespace agentd::cage
