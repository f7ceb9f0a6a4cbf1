// SPDX-License-Identifier: Apache-2.0
#pragma once
// erased_files.h - the files below AGENTD_HOME that hold a text which is erased.
//
// Threading: functions of the file system.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace agentd::app {

struct FileWithText {
  std::string path;
  std::uint64_t times = 0;  // how often it has one of the texts
};
// The regular files below `home` with one of the texts, as it is or as JSON has it; links are not followed. A long text
// is found by its beginning. An unreadable file counts as one without it.
std::vector<FileWithText> files_with(const std::string& home, std::span<const std::string> texts);

// Overwrites the texts in place with as many stars, so that whoever appends to the file at the same time is not
// disturbed. Returns how many there were.
Result<std::uint64_t> star_out(const std::string& path, std::span<const std::string> texts);
// Removes the lines that have one of the texts, or are one of `whole`. Returns how many there were.
Result<std::uint64_t> remove_lines(const std::string& path, std::span<const std::string> texts,
                                   std::span<const std::string> whole);
// Overwrites the file with zeros and removes it.
Result<void> overwrite_and_remove(const std::string& path);

}  // namespace agentd::app
