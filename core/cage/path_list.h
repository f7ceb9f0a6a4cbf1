// SPDX-License-Identifier: Apache-2.0
#pragma once
// path_list.h - lists of absolute paths.
//
// Threading: thread-safe.

#include <string>
#include <vector>

namespace agentd::cage {

// Without a slash at the end, links resolved as far as the path exists.
std::string real_as_far(const std::string& path);
// True where it is one of the places, or below one.
bool is_in(const std::string& path, const std::vector<std::string>& places);
// Appends those that are not there yet.
void add_new(std::vector<std::string>& out, const std::vector<std::string>& more);

}  // namespace agentd::cage
