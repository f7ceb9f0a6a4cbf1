// SPDX-License-Identifier: Apache-2.0
#include "tests/tidy/includes.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace tidy {
namespace {

namespace fs = std::filesystem;

using Names = std::set<std::string>;
using Edges = std::map<std::string, Names>;

bool is_product(const std::string& path) {
  return path.starts_with("core/") || path.starts_with("plugins/") || path.starts_with("providers/");
}

std::string without_extension(const std::string& path) { return path.substr(0, path.rfind('.')); }

Edges edges_of(const fs::path& root) {
  Edges edges;
  for (const fs::path& path : files_of(root, is_code)) {
    const std::string from = without_extension(shown(root, path));
    if (!is_product(from)) continue;
    for (const std::string& line : lines_of(path)) {
      const std::string include = included_by(line);
      if (include.empty() || !is_product(include.substr(1))) continue;
      if (const std::string used = without_extension(include.substr(1)); used != from) edges[from].insert(used);
    }
  }
  return edges;
}

// Everything that `from` reaches; itself when it stands in a circle.
Names reached(const Edges& edges, const std::string& from) {
  Names seen;
  std::vector<std::string> todo{from};
  while (!todo.empty()) {
    const auto found = edges.find(todo.back());
    todo.pop_back();
    if (found == edges.end()) continue;
    for (const std::string& next : found->second)
      if (seen.insert(next).second) todo.push_back(next);
  }
  return seen;
}

}  // namespace

Findings file_cycles(const fs::path& root) {
  const Edges edges = edges_of(root);
  std::map<std::string, Names> circling;  // what each file of a circle reaches
  for (const auto& [from, _] : edges)
    if (Names names = reached(edges, from); names.contains(from)) circling.emplace(from, std::move(names));
  Findings found;
  Names told;
  for (const auto& [from, names] : circling) {
    if (told.contains(from)) continue;
    std::string sentence = from + ": includes itself through";
    for (const auto& [other, back] : circling)
      if (other != from && names.contains(other) && back.contains(from)) {
        sentence += " " + other;
        told.insert(other);
      }
    found.push_back(sentence);
  }
  return found;
}

std::size_t includes_at_median(const fs::path& root, Wanted wanted) {
  std::vector<std::size_t> counts;
  for (const fs::path& path : files_of(root, wanted)) {
    if (!is_product(shown(root, path))) continue;
    const std::vector<std::string> lines = lines_of(path);
    counts.push_back(static_cast<std::size_t>(
        std::count_if(lines.begin(), lines.end(), [](const std::string& line) { return !included_by(line).empty(); })));
  }
  if (counts.empty()) return 0;
  std::sort(counts.begin(), counts.end());
  return counts[counts.size() / 2];
}

}  // namespace tidy
