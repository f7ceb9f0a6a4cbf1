// SPDX-License-Identifier: Apache-2.0
#include "plugins/workspace_tools/pattern.h"

#include <algorithm>

namespace workspace_tools {
namespace {

constexpr std::size_t kAlternativesMax = 256;

bool continues_character(char byte) { return (static_cast<unsigned char>(byte) & 0xC0u) == 0x80u; }

std::vector<std::string> parts_of(std::string_view path) {
  std::vector<std::string> parts;
  for (;;) {
    const std::size_t end = path.find('/');
    parts.emplace_back(path.substr(0, end));
    if (end == std::string_view::npos) return parts;
    path.remove_prefix(end + 1);
  }
}

// The end of the group that opens at `open`, or npos; `commas` receives the group's own commas.
std::size_t close_of(std::string_view pattern, std::size_t open, std::vector<std::size_t>& commas) {
  int depth = 0;
  for (std::size_t at = open; at < pattern.size(); ++at) {
    if (pattern[at] == '\\') {
      ++at;
    } else if (pattern[at] == '{') {
      ++depth;
    } else if (pattern[at] == '}' && --depth == 0) {
      return at;
    } else if (pattern[at] == ',' && depth == 1) {
      commas.push_back(at);
    }
  }
  return std::string_view::npos;
}

// Expands "a{b,c}d" to "abd" and "acd"; an unmatched brace is literal.
void expand(const std::string& pattern, std::vector<std::string>& out) {
  std::size_t open = 0;
  while (open < pattern.size() && pattern[open] != '{') open += pattern[open] == '\\' ? 2u : 1u;
  std::vector<std::size_t> cuts{open};
  const std::size_t close = open < pattern.size() ? close_of(pattern, open, cuts) : std::string::npos;
  if (close == std::string::npos || cuts.size() == 1 || out.size() >= kAlternativesMax) {
    out.push_back(pattern);
    return;
  }
  cuts.push_back(close);
  for (std::size_t i = 0; i + 1 < cuts.size(); ++i)
    expand(pattern.substr(0, open) + pattern.substr(cuts[i] + 1, cuts[i + 1] - cuts[i] - 1) + pattern.substr(close + 1),
           out);
}

// Reads the set that begins at pattern[at] == '['. Returns true, with `at` after it, if `c` is in it; a '[' without an
// end is literal.
bool in_set(std::string_view pattern, std::size_t& at, char c) {
  std::size_t next = at + 1;
  const bool inverted = next < pattern.size() && (pattern[next] == '!' || pattern[next] == '^');
  if (inverted) ++next;
  bool found = false;
  for (bool first = true; next < pattern.size() && (first || pattern[next] != ']'); first = false) {
    const char low = pattern[next];
    char high = low;
    if (next + 2 < pattern.size() && pattern[next + 1] == '-' && pattern[next + 2] != ']') {
      high = pattern[next + 2];
      next += 2;
    }
    found = found || (low <= c && c <= high);
    ++next;
  }
  if (next >= pattern.size()) {  // no end
    const bool same = c == '[';
    ++at;
    return same;
  }
  at = next + 1;
  return found != inverted;
}

// Matches one pattern element against the text at `t`; on success both positions advance.
bool step(std::string_view pattern, std::size_t& p, std::string_view text, std::size_t& t) {
  std::size_t next = p;
  if (pattern[p] == '[') {
    if (!in_set(pattern, next, text[t])) return false;
    p = next;
    ++t;
    return true;
  }
  if (pattern[p] == '?') {
    ++p;
    ++t;
    while (t < text.size() && continues_character(text[t])) ++t;
    return true;
  }
  if (pattern[next] == '\\' && next + 1 < pattern.size()) ++next;
  if (pattern[next] != text[t]) return false;
  p = next + 1;
  ++t;
  return true;
}

// Matches one part against one part; only the last star is retried, with one more character each time.
bool part_matches(std::string_view pattern, std::string_view text) {
  std::size_t p = 0;
  std::size_t t = 0;
  std::size_t star = std::string_view::npos;
  std::size_t star_text = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = ++p;
      star_text = t;
    } else if (p < pattern.size() && step(pattern, p, text, t)) {
    } else if (star != std::string_view::npos) {
      p = star;
      t = ++star_text;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

// reach[j]: the pattern's parts so far can match the path's first j parts.
bool path_matches(const std::vector<std::string>& pattern, const std::vector<std::string>& path) {
  std::vector<bool> reach(path.size() + 1, false);
  reach[0] = true;
  for (const std::string& part : pattern) {
    std::vector<bool> next(path.size() + 1, false);
    for (std::size_t j = 0; j <= path.size(); ++j) {
      if (part == "**") {
        next[j] = reach[j] || (j > 0 && next[j - 1]);
      } else if (j > 0 && reach[j - 1]) {
        next[j] = part_matches(part, path[j - 1]);
      }
    }
    reach = std::move(next);
  }
  return reach[path.size()];
}

}  // namespace

Glob::Glob(std::string_view pattern) {
  while (pattern.starts_with("./")) pattern.remove_prefix(2);
  std::vector<std::string> expanded;
  expand(std::string(pattern), expanded);
  for (const std::string& each : expanded) alternatives_.push_back(parts_of(each));
}

bool Glob::matches(std::string_view path) const {
  const std::vector<std::string> parts = parts_of(path);
  return std::any_of(alternatives_.begin(), alternatives_.end(),
                     [&](const auto& each) { return path_matches(each, parts); });
}

IgnoreRules::IgnoreRules(std::string_view file) {
  if (file.starts_with("\xEF\xBB\xBF")) file.remove_prefix(3);
  while (!file.empty()) {
    const std::size_t end = std::min(file.find('\n'), file.size());
    std::string line(file.substr(0, end));
    file.remove_prefix(std::min(end + 1, file.size()));
    if (line.ends_with('\r')) line.pop_back();
    while (line.ends_with(' ') && !line.ends_with("\\ ")) line.pop_back();
    if (line.empty() || line.front() == '#') continue;
    const bool keep = line.front() == '!';
    if (keep) line.erase(0, 1);
    const bool only_directories = line.ends_with('/');
    if (only_directories) line.pop_back();
    if (line.empty()) continue;
    const bool anchored = line.find('/') != std::string::npos;
    if (line.front() == '/') line.erase(0, 1);
    // All that is in the folder, and not the folder itself: one of its files may be kept.
    if (line.ends_with("/**")) line += "/*";
    // Braces have no meaning in an ignore file.
    for (std::size_t at = 0; (at = line.find('{', at)) != std::string::npos; at += 2) line.insert(at, 1, '\\');
    rules_.push_back({Glob(anchored ? line : "**/" + line), keep, only_directories});
  }
}

IgnoreRules::Verdict IgnoreRules::decide(std::string_view path, bool is_directory) const {
  for (auto rule = rules_.rbegin(); rule != rules_.rend(); ++rule) {
    if (rule->only_directories && !is_directory) continue;
    if (rule->glob.matches(path)) return rule->keep ? Verdict::kKeep : Verdict::kIgnore;
  }
  return Verdict::kNone;
}

}  // namespace workspace_tools
