// SPDX-License-Identifier: Apache-2.0
#pragma once
// text.h - formats file contents and long outputs for a model.
//
// Threading: pure functions.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace workspace_tools {

inline constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";  // of UTF-8; no tool shows it
inline constexpr std::size_t kOutputBytes = 30'000;                 // per tool call; head and tail are kept
inline constexpr std::size_t kLineBytes = 2'000;                    // per line; the rest is left out

// The lines without their ends ("\n" or "\r\n"), including a last line without an end.
std::vector<std::string_view> lines_of(std::string_view text);
// True if the first 8 kB contain a NUL, the common test for binary files.
bool is_binary(std::string_view text);
// "   123\tthe line", cut at kLineBytes.
std::string numbered(std::uint64_t number, std::string_view line);
// A line, cut at kLineBytes between two characters, with a mark.
std::string shortened(std::string_view line);
// The text, or if it exceeds `most` bytes its head and tail around a mark.
std::string capped(std::string text, std::size_t most = kOutputBytes);
// Counts `part` in `text` without overlaps. REQUIRES: `part` is not empty.
std::size_t count_of(std::string_view text, std::string_view part);
// An absolute path without ".", ".." and "//"; used only to recognise a file that was read, never to open one.
std::string normal_path(std::string_view cwd, std::string_view path);

}  // namespace workspace_tools
