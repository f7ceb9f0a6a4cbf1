// SPDX-License-Identifier: Apache-2.0
#pragma once
// reach.h - the directories that a worker with "files:read" or "files:write" gets: those of the
// workspace, without what belongs to agentd itself.
//
// Threading: pure functions on the file system.

#include <string>
#include <vector>

namespace agentd {

// The roots, but for `home` and everything in it. A root around `home` is replaced by what lies in
// it, so that such a root itself cannot get new entries. An empty `home` changes nothing.
std::vector<std::string> roots_without(const std::vector<std::string>& roots, const std::string& home);

}  // namespace agentd
