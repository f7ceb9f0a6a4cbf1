// SPDX-License-Identifier: Apache-2.0
#include "tests/tidy/text.h"

#include <algorithm>

namespace tidy {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLinesMax = 1'000;
constexpr std::size_t kColumnsMax = 120;

std::size_t columns_of(const std::string& line) {
  return static_cast<std::size_t>(std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

}  // namespace

Findings missing_licenses(const fs::path& root) {
  Findings found;
  const auto wanted = [](const fs::path& path) {
    return is_code(path) || path.filename() == "CMakeLists.txt" || path.extension() == ".cmake";
  };
  for (const fs::path& path : files_of(root, wanted)) {
    const std::vector<std::string> lines = lines_of(path);
    if (lines.empty() || lines[0].find("SPDX-License-Identifier: Apache-2.0") == std::string::npos)
      found.push_back(shown(root, path) + ":1: the first line must be the SPDX license identifier");
  }
  return found;
}

Findings missing_guards(const fs::path& root) {
  Findings found;
  const auto wanted = [](const fs::path& path) {
    return is_header(path) && path.generic_string().find("plugin-api/include/") == std::string::npos;
  };
  for (const fs::path& path : files_of(root, wanted)) {
    const std::vector<std::string> lines = lines_of(path);
    const bool is_c = !lines.empty() && lines[0].starts_with("/*");
    if (!is_c && std::find(lines.begin(), lines.end(), "#pragma once") == lines.end())
      found.push_back(shown(root, path) + ":2: #pragma once is missing");
  }
  return found;
}

Findings long_files(const fs::path& root) {
  Findings found;
  for (const fs::path& path : files_of(root, is_code)) {
    const std::size_t lines = lines_of(path).size();
    if (lines > kLinesMax)
      found.push_back(shown(root, path) + ":1: " + std::to_string(lines) + " lines, more than 1,000");
  }
  return found;
}

Findings long_lines(const fs::path& root) {
  return each_line(root, is_code, [](const std::string& line) {
    const std::size_t columns = columns_of(line);
    return columns > kColumnsMax ? std::to_string(columns) + " columns, more than 120" : std::string();
  });
}

Findings suppressions(const fs::path& root, std::size_t most) {
  // Written in two pieces, so that this file does not find itself.
  const std::string marks[] = {std::string("NO") + "LINT", std::string("NO_THREAD") + "_SAFETY"};
  std::size_t seen = 0;
  return each_line(root, is_code, [&](const std::string& line) {
    for (const std::string& mark : marks) {
      const std::size_t at = line.find(mark);
      if (at == std::string::npos || line.starts_with("#define") || line.find("END", at) == at + mark.size()) continue;
      if (++seen > most)
        return "the tree has " + std::to_string(seen) + " suppressions, at most " + std::to_string(most);
      if (line.find(": ", at) == std::string::npos) return std::string("a suppression says why, behind a colon");
    }
    return std::string();
  });
}

Findings leftovers(const fs::path& root) {
  // Written in two pieces, so that this file does not find itself.
  const std::string notes[] = {std::string("FIX") + "ME", std::string("TO") + "DO", std::string("XX") + "X:"};
  return each_line(root, is_code, [&](const std::string& line) {
    for (const std::string& note : notes)
      if (line.find(note) != std::string::npos) return "do it, or write down why not: " + note;
    return std::string();
  });
}

}  // namespace tidy
