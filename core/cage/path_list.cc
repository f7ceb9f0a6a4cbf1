// SPDX-License-Identifier: Apache-2.0
#include "core/cage/path_list.h"

#include <algorithm>
#include <filesystem>

#include "core/cage/places.h"

namespace agentd::cage {

namespace fs = std::filesystem;

std::string real_as_far(const std::string& path) {
  std::error_code failed;
  std::string out = fs::weakly_canonical(path, failed).string();
  if (failed) out = fs::path(path).lexically_normal().string();
  while (out.size() > 1 && out.ends_with('/')) out.pop_back();
  return out;
}

bool is_in(const std::string& path, const std::vector<std::string>& places) {
  return std::any_of(places.begin(), places.end(), [&](const std::string& each) { return is_below(path, each); });
}

void add_new(std::vector<std::string>& out, const std::vector<std::string>& more) {
  for (const std::string& each : more)
    if (std::find(out.begin(), out.end(), each) == out.end()) out.push_back(each);
}

}  // namespace agentd::cage
