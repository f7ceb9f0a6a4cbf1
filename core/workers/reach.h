// SPDX-License-Identifier: Apache-2.0
#pragma once
// reach.h - the directories that "files:read" and "files:write" open to a worker: the workspace's roots, without
// agentd's own files.
//
// Threading: pure functions on the file system.

#include <string>
#include <vector>

namespace agentd {

// The roots without `home` and everything below it. A root that contains `home` is replaced by its entries, so new
// entries cannot be made in the root itself. An empty `home` changes nothing.
std::vector<std::string> roots_without(const std::vector<std::string>& roots, const std::string& home);

}  // namespace agentd
