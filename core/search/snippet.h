// SPDX-License-Identifier: Apache-2.0
#pragma once
// snippet.h - the part of a text that shows why it was found.
//
// Threading: pure functions.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/search/terms.h"

namespace agentd {

// One line, harmless for a terminal (neutral.h), with "…" where the text continues.
struct Snippet {
  std::string text;
  std::vector<TextRange> matches;  // the shown parts of the matches, in order
};

// The part of `text` with the most matches, in about `columns` columns of a terminal, which is at least 20. REQUIRES:
// `matches` are in the order of their starts and within the text.
Snippet snippet_of(std::string_view text, std::span<const TextRange> matches, std::size_t columns);

}  // namespace agentd
