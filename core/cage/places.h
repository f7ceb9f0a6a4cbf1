// SPDX-License-Identifier: Apache-2.0
#pragma once
// places.h - what a command needs of a machine, and what it must not get: the lists behind the cage's rules.
//
// Threading: pure functions on the file system.

#include <string>
#include <string_view>
#include <vector>

namespace agentd::cage {

// True also when both are the same. Texts are compared: both are absolute, and neither ends in '/'.
bool is_below(std::string_view path, std::string_view root);

// Programs, libraries and settings of the system that everybody may read. For root, which may read all of /etc, only
// what others may, too.
std::vector<std::string> system_places();
// Toolchains of the home directory: the directories of PATH that are below it, and what belongs to them; settings of
// Git that a commit needs. No file with a token.
std::vector<std::string> tool_places(const std::string& home, std::string_view path);
// The caches of package managers, to be read: what is written there would be run later outside of the cage.
std::vector<std::string> cache_places(const std::string& home);
// Keys, tokens, histories and data of browsers and messengers at the places that programs are known to use: the list
// cannot be complete. They are hidden where a readable or writable directory contains them.
std::vector<std::string> secret_places(const std::string& home);
// The places, but instead of one that contains a secret the parts of it that contain none: for a layer that cannot hide
// a part of what it opens. Links in such a one are left out.
std::vector<std::string> parts_without(const std::vector<std::string>& places, const std::vector<std::string>& secrets);

// Files that run code of their own accord later on when they are changed: hooks and settings of Git, of agentd, of
// editors and of other agents, and where the root is around `home`, start files of shells. They need not exist.
std::vector<std::string> guarded_places(const std::string& root, const std::string& home);

}  // namespace agentd::cage
