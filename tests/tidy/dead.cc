// SPDX-License-Identifier: Apache-2.0
#include "tests/tidy/dead.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace tidy {
namespace {

namespace fs = std::filesystem;

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// The line without its texts and its comment.
std::string code_of(const std::string& line) {
  std::string out;
  for (std::size_t at = 0; at < line.size(); ++at) {
    if (line.compare(at, 2, "//") == 0) break;
    if (line[at] != '"') {
      out += line[at];
      continue;
    }
    for (++at; at < line.size() && line[at] != '"'; ++at)
      if (line[at] == '\\') ++at;
  }
  return out;
}

std::vector<std::string> words_of(const std::string& code) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at < code.size();) {
    std::size_t end = at;
    while (end < code.size() && is_word(code[end])) ++end;
    if (end > at) out.push_back(code.substr(at, end - at));
    at = std::max(end, at + 1);
  }
  return out;
}

// The function that a line declares or defines: "int f(" outside of functions has f; empty for other lines.
std::string declared_by(const std::string& code, bool in_header) {
  static const std::set<std::string> kStatements{"return", "else", "case", "throw", "new", "delete", "if", "for"};
  const std::size_t indent = code.find_first_not_of(' '), open = code.find('(');
  if (indent == std::string::npos || open == std::string::npos) return {};
  if (indent != 0 && !(in_header && indent == 2)) return {};
  std::size_t begin = open;
  while (begin > indent && is_word(code[begin - 1])) --begin;
  const std::string name = code.substr(begin, open - begin), before = code.substr(indent, begin - indent);
  const bool lower = !name.empty() && std::islower(static_cast<unsigned char>(name[0])) != 0;
  const bool typed = before.find_first_of(" *&") != std::string::npos;
  const bool plain = std::all_of(before.begin(), before.end(), [](char c) {
    return is_word(c) || std::string_view(":<>,*& []").find(c) != std::string_view::npos;
  });
  const std::vector<std::string> words = words_of(before);
  return lower && typed && plain && !words.empty() && !kStatements.contains(words[0]) ? name : std::string();
}

}  // namespace

Findings unused_functions(const fs::path& root) {
  std::map<std::string, std::string> declared;  // name -> where
  std::set<std::string> used;
  for (const fs::path& path : files_of(root, is_code)) {
    const std::string from = shown(root, path);
    if (!from.starts_with("core/") && !from.starts_with("plugins/") && !from.starts_with("providers/")) continue;
    const std::vector<std::string> lines = lines_of(path);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const std::string code = code_of(lines[i]);
      const std::string name = declared_by(code, is_header(path));
      if (!name.empty() && is_header(path)) declared.emplace(name, from + ":" + std::to_string(i + 1));
      bool counted = name.empty();
      for (const std::string& word : words_of(code)) {
        if (!counted && word == name)
          counted = true;
        else
          used.insert(word);
      }
    }
  }
  Findings found;
  for (const auto& [name, where] : declared)
    if (!used.contains(name)) found.push_back(where + ": nothing uses " + name);
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace tidy
