// SPDX-License-Identifier: Apache-2.0
#pragma once
// message_input.h - what a message takes from outside: standard input, and files named as @PATH.
//
// Threading: pure functions on descriptors and files.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace agentd::app {

inline constexpr std::size_t kMessageBytesMax = 8u << 20;
inline constexpr std::size_t kAttachedBytesMax = 1u << 20;  // of one file

// A pipe, a socket or a file: something that was put there. Not a terminal, not /dev/null, not what
// is closed.
bool is_piped(int fd);

// All text of a descriptor. `waiting` is called once when nothing has come for three seconds.
// kInvalid: more than kMessageBytesMax, or no text but a picture or another binary file.
Result<std::string> piped_text(int fd, const std::function<void()>& waiting);

struct WithFiles {
  std::string text;
  std::vector<std::string> missing;  // words as they stand, each once: "@nofile"
};
// "@nofile names no file here and was sent as it stands". REQUIRES: there is one.
std::string missing_sentence(const std::vector<std::string>& missing);

// The text with the files behind it that it names: "@PATH" or @"A PATH" at the beginning of a word.
// A word that names no file stays text, and is among `missing`. kInvalid: the file lies outside of
// `roots`, is larger than kAttachedBytesMax or is binary.
Result<WithFiles> with_files(const std::string& text, const std::string& cwd,
                             const std::vector<std::string>& roots);

}  // namespace agentd::app
