// SPDX-License-Identifier: Apache-2.0
#pragma once
// near.h - says why a text is not in a file, and shows the lines that come nearest to it.
//
// Models copy text with other white space, quotation marks, dashes or composed characters than the file has. The
// sentence names the difference and shows the lines, so that the next attempt can copy them.
//
// Threading: pure functions.

#include <string>
#include <string_view>

namespace workspace_tools {

// A sentence about `from`, which is not in `content`, the text of `path`; `to` was to replace it. Its time is bounded,
// however large the file is.
std::string why_missing(std::string_view path, std::string_view content, std::string_view from, std::string_view to);

}  // namespace workspace_tools
