// SPDX-License-Identifier: Apache-2.0
#include "core/base/nearest.h"

#include <algorithm>

namespace agentd {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = a[i - 1] == b[j - 1] ? 0 : 1;
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

std::string nearest(std::string_view word, const std::vector<std::string>& names) {
  constexpr std::size_t kWordMax = 64;  // no typing error is longer
  if (word.empty() || word.size() > kWordMax) return {};
  std::string best;
  std::size_t best_distance = kWordMax;
  for (const std::string& name : names) {
    const bool begins = word.size() >= 3 && name.substr(0, word.size()) == word;
    const std::size_t distance = begins ? 1 : edit_distance(word, name);
    if (!begins && distance > std::max<std::size_t>(1, name.size() / 3)) continue;
    if (distance >= best_distance) continue;
    best_distance = distance;
    best = name;
  }
  return best;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& names) {
  const std::string name = nearest(word, names);
  return name.empty() ? "" : ": did you mean '" + name + "'?";
}

}  // namespace agentd
