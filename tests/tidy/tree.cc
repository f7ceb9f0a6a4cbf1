// SPDX-License-Identifier: Apache-2.0
#include "tests/tidy/tree.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>

namespace tidy {
namespace {

namespace fs = std::filesystem;

constexpr std::array kFolders{"core", "plugins", "providers", "plugin-api", "tests", "bench"};

bool has_suffix(const fs::path& path, std::initializer_list<const char*> suffixes) {
  return std::any_of(suffixes.begin(), suffixes.end(), [&](const char* suffix) { return path.extension() == suffix; });
}

}  // namespace

bool is_code(const fs::path& path) { return has_suffix(path, {".h", ".hpp", ".c", ".cc", ".cpp"}); }
bool is_header(const fs::path& path) { return has_suffix(path, {".h", ".hpp"}); }

std::vector<std::string> lines_of(const fs::path& path) {
  std::ifstream in(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::string text_of(const fs::path& path) {
  std::ifstream in(path);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

std::string shown(const fs::path& root, const fs::path& path) { return path.lexically_relative(root).generic_string(); }

std::vector<fs::path> files_of(const fs::path& root, Wanted wanted) {
  std::vector<fs::path> found;
  for (const char* folder : kFolders) {
    if (!fs::is_directory(root / folder)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(root / folder))
      if (entry.is_regular_file() && wanted(entry.path())) found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

Findings each_line(const fs::path& root, Wanted wanted,
                   const std::function<std::string(const std::string&)>& complaint) {
  Findings found;
  for (const fs::path& path : files_of(root, wanted)) {
    const std::vector<std::string> lines = lines_of(path);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const std::string wrong = complaint(lines[i]);
      if (!wrong.empty()) found.push_back(shown(root, path) + ":" + std::to_string(i + 1) + ": " + wrong);
    }
  }
  return found;
}

std::string included_by(const std::string& line) {
  std::size_t at = line.find_first_not_of(" \t");
  if (at == std::string::npos || line[at] != '#') return "";
  at = line.find_first_not_of(" \t", at + 1);
  if (at == std::string::npos || line.compare(at, 7, "include") != 0) return "";
  at = line.find_first_of("<\"", at);
  if (at == std::string::npos) return "";
  return line.substr(at, line.find_first_of(">\"", at + 1) - at);
}

bool is_ours(const std::string& target) {
  return target.starts_with("core/") || target.starts_with("providers/") || target.starts_with("plugins/") ||
         target.starts_with("tests/") || target.starts_with("bench/");
}

}  // namespace tidy
