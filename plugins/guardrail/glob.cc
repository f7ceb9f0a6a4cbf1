// SPDX-License-Identifier: Apache-2.0
#include "plugins/guardrail/glob.h"

#include <cstddef>
#include <string>

namespace guardrail {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// The length of a class such as [!a-z] at the start of `glob`; 0 if there is none.
std::size_t class_length(std::string_view glob) {
  std::size_t at = 1;
  if (at < glob.size() && (glob[at] == '!' || glob[at] == '^')) ++at;
  if (at < glob.size() && glob[at] == ']') ++at;
  while (at < glob.size() && glob[at] != ']') ++at;
  return at < glob.size() ? at + 1 : 0;
}

bool class_holds(std::string_view inside, char c) {
  const bool negated = inside.starts_with('!') || inside.starts_with('^');
  if (negated) inside.remove_prefix(1);
  bool found = false;
  for (std::size_t i = 0; i < inside.size(); ++i) {
    const bool range = i + 2 < inside.size() && inside[i + 1] == '-';
    found = found || (range ? inside[i] <= c && c <= inside[i + 2] : inside[i] == c);
    if (range) i += 2;
  }
  return found != negated;
}

// True if one element of the glob matches `c`; `used` receives its length.
bool takes(std::string_view glob, char c, std::size_t& used) {
  used = 1;
  if (glob[0] == '?') return true;
  if (glob[0] == '[') {
    const std::size_t length = class_length(glob);
    if (length != 0) {
      used = length;
      return class_holds(glob.substr(1, length - 2), c);
    }
  }
  return glob[0] == c;
}

// Matches one component, or a name.
bool component_matches(std::string_view glob, std::string_view text) {
  std::size_t g = 0, t = 0, star = std::string_view::npos, resume = 0;
  while (t < text.size()) {
    std::size_t used = 0;
    if (g < glob.size() && glob[g] == '*') {
      star = g++;
      resume = t;
    } else if (g < glob.size() && takes(glob.substr(g), text[t], used)) {
      g += used;
      ++t;
    } else if (star != std::string_view::npos) {
      g = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (g < glob.size() && glob[g] == '*') ++g;
  return g == glob.size();
}

std::string_view first_component(std::string_view path) { return path.substr(0, path.find('/')); }

std::string_view behind_first(std::string_view path) {
  const std::size_t slash = path.find('/');
  return slash == std::string_view::npos ? std::string_view() : path.substr(slash + 1);
}

// Matches the components after the leading slash; "**" is retried at each of them.
bool components_match(std::string_view glob, std::string_view path) {
  std::string_view after_stars, resume;
  bool stars = false;
  while (true) {
    if (!glob.empty() && first_component(glob) == "**") {
      stars = true;
      after_stars = glob = behind_first(glob);
      if (glob.empty()) return true;
      resume = path;
      continue;
    }
    if (!path.empty() && !glob.empty() && component_matches(first_component(glob), first_component(path))) {
      glob = behind_first(glob);
      path = behind_first(path);
    } else if (glob.empty() && path.empty()) {
      return true;
    } else if (stars && !resume.empty()) {
      resume = behind_first(resume);
      path = resume;
      glob = after_stars;
    } else {
      return false;
    }
  }
}

}  // namespace

bool path_matches(std::string_view glob, std::string_view path) {
  if (glob.starts_with('/')) glob.remove_prefix(1);
  if (path.starts_with('/')) path.remove_prefix(1);
  return components_match(glob, path);
}

bool name_matches(std::string_view globs, std::string_view name) {
  while (true) {
    const std::size_t bar = globs.find('|');
    std::string_view one = globs.substr(0, bar);
    while (one.starts_with(' ')) one.remove_prefix(1);
    while (one.ends_with(' ')) one.remove_suffix(1);
    std::string small_glob(one), small_name(name);
    for (char& c : small_glob) c = lower(c);
    for (char& c : small_name) c = lower(c);
    if (component_matches(small_glob, small_name)) return true;
    if (bar == std::string_view::npos) return false;
    globs.remove_prefix(bar + 1);
  }
}

}  // namespace guardrail
