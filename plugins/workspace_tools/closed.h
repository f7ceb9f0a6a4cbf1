// SPDX-License-Identifier: Apache-2.0
#pragma once
// closed.h - why the system does not let this user read or change a file, where the host only says that it failed.
//
// It checks modes and the free space of the disk, and opens nothing. Only paths in the working directory are checked,
// so that a refusal tells nothing about files elsewhere.
//
// Threading: thread-safe.

#include <cstdint>
#include <string>
#include <string_view>

namespace workspace_tools {

// The rest of a sentence that begins with the path: "cannot be read: its mode is 0000". Empty: modes are not why.
std::string why_not_read(std::string_view cwd, std::string_view path);
std::string why_not_changed(std::string_view cwd, std::string_view path);
// True if the disk of the file has no room for so many bytes.
bool is_disk_full(std::string_view cwd, std::string_view path, std::uint64_t bytes);

}  // namespace workspace_tools
