// SPDX-License-Identifier: Apache-2.0
#pragma once
// message_input.h - the external parts of a message: standard input, and files named as @PATH.
//
// Threading: pure functions on descriptors and files.

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/conversation/media.h"
#include "core/process/kept_paths.h"

namespace agentd::app {

inline constexpr std::size_t kMessageBytesMax = 8u << 20;
inline constexpr std::size_t kAttachedBytesMax = 1u << 20;  // of one file of text

// True for a pipe, a socket or a file; false for a terminal, /dev/null and a closed descriptor.
bool is_piped(int fd);

// Reads the text of a descriptor. `waiting` is called once if nothing has arrived for three seconds. kInvalid:
// more than kMessageBytesMax, or a picture or another binary file.
Result<std::string> piped_text(int fd, const std::function<void()>& waiting);

// The image in a file. kInvalid: it cannot be read, or is not an image.
Result<Block> image_in(const std::string& path);

struct WithFiles {
  std::string text;
  std::vector<Block> media;          // images and documents among the files
  std::vector<std::string> missing;  // the words, each once: "@nofile"
};
// "@nofile names no file here and was sent unchanged". REQUIRES: at least one.
std::string missing_sentence(const std::vector<std::string>& missing);

// The text followed by the files that it names: "@PATH" or @"A PATH" at the beginning of a word. A word that names
// no file is left as text and added to `missing`. kInvalid: the file is outside `roots`, hidden, too large, or
// binary and neither an image nor a PDF document.
Result<WithFiles> with_files(const std::string& text, const std::string& cwd, const std::vector<std::string>& roots,
                             const HiddenFiles& hidden);

}  // namespace agentd::app
