// SPDX-License-Identifier: Apache-2.0
#pragma once
// edits.h - replaces pieces of a file's text, all of them or none.
//
// A piece must be there exactly once, unless all are meant. A text written with "\n" matches the file's "\r\n", and
// what is put there gets the line ends of its place, since read_file does not show "\r".
//
// Threading: pure functions.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace workspace_tools {

struct Edit {
  std::string_view from, to;  // `from` is not empty and differs from `to`
  bool all = false;
};

struct Edited {
  std::string text;
  std::size_t places = 0;          // replaced in total
  std::size_t at = 0, length = 0;  // the first place of the last edit, in `text`
};

// Applies the edits one after another, each to the text that the last one made. kInvalid has a sentence for the model,
// about the first edit that does not fit; `path` is the file's name in it.
agentd::Result<Edited> apply(std::string_view path, std::string_view content, std::span<const Edit> edits);

}  // namespace workspace_tools
