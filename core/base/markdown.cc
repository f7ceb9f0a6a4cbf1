// SPDX-License-Identifier: Apache-2.0
#include "core/base/markdown.h"

#include <algorithm>

namespace agentd {

std::string fenced(std::string_view text, std::string_view language) {
  std::size_t longest = 2, run = 0;
  for (const char c : text) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  const std::string fence(longest + 1, '`');
  std::string out = fence + std::string(language) + "\n";
  out.append(text).append(text.empty() || text.ends_with('\n') ? "" : "\n");
  return out + fence;
}

}  // namespace agentd
