// SPDX-License-Identifier: Apache-2.0
#include "tests/tidy/mentions.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <string>
#include <string_view>

namespace tidy {
namespace {

namespace fs = std::filesystem;

bool is_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '/' || c == '-'; }

// "core/base/ids.h" of "see core/base/ids.h, ...": words that end in .h, .hpp or .cc.
std::vector<std::string> names_in(const std::string& text) {
  std::vector<std::string> out;
  for (const std::string_view suffix : {".h", ".hpp", ".cc"})
    for (std::size_t at = text.find(suffix); at != std::string::npos; at = text.find(suffix, at + 1)) {
      const std::size_t end = at + suffix.size();
      if (end < text.size() && (is_name(text[end]) || text[end] == '(')) continue;
      std::size_t begin = at;
      while (begin > 0 && is_name(text[begin - 1])) --begin;
      const bool whole = begin == 0 || std::string_view("*.{}<>$").find(text[begin - 1]) == std::string_view::npos;
      if (whole && begin < at && text[begin] != '/' && text[at - 1] != '/')
        out.push_back(text.substr(begin, end - begin));
    }
  return out;
}

bool from_root(const std::string& name) {
  return is_ours(name) || name.starts_with("plugin-api/") || name.starts_with("docs/") || name.starts_with("cmake/");
}

std::vector<fs::path> pages_of(const fs::path& root) {
  std::vector<fs::path> out;
  for (const auto& entry : fs::directory_iterator(root))
    if (entry.path().extension() == ".md" && entry.path().filename() != "CHANGELOG.md") out.push_back(entry.path());
  if (fs::is_directory(root / "docs"))
    for (const auto& entry : fs::recursive_directory_iterator(root / "docs"))
      if (entry.path().extension() == ".md") out.push_back(entry.path());
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

Findings missing_mentions(const fs::path& root) {
  std::vector<fs::path> files = files_of(root, is_code);
  std::set<std::string> known;
  for (const fs::path& path : files) known.insert(path.filename().string());
  const std::vector<fs::path> pages = pages_of(root);
  files.insert(files.end(), pages.begin(), pages.end());
  Findings found;
  for (const fs::path& path : files) {
    const std::vector<std::string> lines = lines_of(path);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const std::size_t begin = is_code(path) ? lines[i].find("//") : 0;
      if (begin == std::string::npos) continue;
      for (const std::string& name : names_in(lines[i].substr(begin))) {
        const std::string last = name.substr(name.rfind('/') + 1);
        if (from_root(name) ? fs::exists(root / name) : known.contains(last)) continue;
        found.push_back(shown(root, path) + ":" + std::to_string(i + 1) + ": there is no " + name);
      }
    }
  }
  return found;
}

}  // namespace tidy
