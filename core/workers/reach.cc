// SPDX-License-Identifier: Apache-2.0
#include "core/workers/reach.h"

#include <filesystem>

namespace agentd {
namespace {

namespace fs = std::filesystem;

fs::path canonical(const std::string& path) {
  std::error_code failed;
  const fs::path out = fs::weakly_canonical(path, failed);
  return failed ? fs::path(path) : out;
}

bool is_within(const fs::path& path, const fs::path& directory) {
  const fs::path way = path.lexically_relative(directory);
  return !way.empty() && *way.begin() != "..";
}

void add_entries(const fs::path& root, const fs::path& home, std::vector<std::string>& out) {
  std::error_code failed;
  for (fs::directory_iterator at(root, failed), end; !failed && at != end; at.increment(failed)) {
    const fs::path entry = at->path();
    if (is_within(entry, home)) continue;
    if (is_within(home, entry)) add_entries(entry, home, out);
    // A link may lead outside the root, so it is left out; its target has its own entry.
    else if (!at->is_symlink(failed))
      out.push_back(entry.string());
  }
}

}  // namespace

std::vector<std::string> roots_without(const std::vector<std::string>& roots, const std::string& home) {
  if (home.empty()) return roots;
  const fs::path own = canonical(home);
  std::vector<std::string> out;
  for (const std::string& each : roots) {
    const fs::path root = canonical(each);
    if (is_within(root, own)) continue;
    if (is_within(own, root))
      add_entries(root, own, out);
    else
      out.push_back(each);
  }
  return out;
}

}  // namespace agentd
