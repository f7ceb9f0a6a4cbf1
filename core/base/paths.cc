// SPDX-License-Identifier: Apache-2.0
#include "core/base/paths.h"

#include <algorithm>

namespace agentd {

std::string lexical_path(std::string_view path, std::string_view folder) {
  std::string out;
  const auto walk = [&out](std::string_view rest) {
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find('/'), rest.size());
      const std::string_view part = rest.substr(0, end);
      rest.remove_prefix(std::min(end + 1, rest.size()));
      if (part.empty() || part == ".") continue;
      if (part == "..")
        out.resize(out.empty() ? 0 : out.rfind('/'));
      else
        (out += '/') += part;
    }
  };
  if (!path.starts_with('/')) walk(folder);
  walk(path);
  return out.empty() ? "/" : out;
}

std::string with_home(std::string_view path, std::string_view home) {
  const bool of_home = path == "~" || path.starts_with("~/");
  if (!of_home || home.empty()) return std::string(path);
  return std::string(home).append(path.substr(1));
}

}  // namespace agentd
