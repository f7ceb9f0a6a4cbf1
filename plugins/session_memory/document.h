// SPDX-License-Identifier: Apache-2.0
#pragma once
// document.h - cuts a document into memories, one for each section.
//
// Threading: pure functions.

#include <string>
#include <string_view>
#include <vector>

namespace session_memory {

struct Chunk {
  std::string title;  // "guide.md › Install"
  std::string text;   // at most about kChunkBytesMax
};
inline constexpr std::size_t kChunkBytesMax = 2048, kChunksMax = 400;

// Sections by Markdown headings (#, and lines underlined by = or -), in order. Headings inside of a fence are text. A
// section that is too long is cut between paragraphs, else between lines; a fence is cut only if it is itself too long,
// and then closed and opened again. Sections without text are left out. At most kChunksMax + 1: more tells that the
// document is too long.
std::vector<Chunk> chunks_of(std::string_view name, std::string_view text);

}  // namespace session_memory
