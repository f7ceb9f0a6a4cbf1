// SPDX-License-Identifier: Apache-2.0
#include "core/tools/path_pattern.h"

#include <fnmatch.h>

#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "core/base/bytes.h"
#include "core/base/paths.h"

namespace agentd {
namespace {

constexpr std::size_t kShownPathBytes = 120, kPathPatternMax = 4096;
constexpr std::string_view kWild = "*?[]\\";

std::vector<std::string> parts_of(std::string_view path) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at < path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    if (end != at) out.emplace_back(path.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

// The rest behind a folder in a path; false: the path is not in it.
bool below(const std::string& path, const std::string& folder, std::string& rest) {
  if (folder == "/") {
    rest = path.substr(1);
    return true;
  }
  if (!path.starts_with(folder) || (path.size() > folder.size() && path[folder.size()] != '/')) return false;
  rest = path.size() > folder.size() ? path.substr(folder.size() + 1) : "";
  return true;
}

// A folder fits with all in it.
bool fits(std::span<const std::string> pattern, std::span<const std::string> path) {
  std::vector<char> now(path.size() + 1, 0), next(path.size() + 1, 0);  // the parts that were used so far
  now[0] = 1;
  for (std::size_t at = 0; at < pattern.size(); ++at) {
    const std::string& part = pattern[at];
    std::fill(next.begin(), next.end(), 0);
    for (std::size_t i = 0; i <= path.size(); ++i) {
      if (part == "**") {
        // At the end it is what a folder has, without the folder.
        const bool last = at + 1 == pattern.size();
        if (!last && now[i] != 0) next[i] = 1;
        if (i > 0 && (now[i - 1] != 0 || next[i - 1] != 0)) next[i] = 1;
      } else if (i > 0 && now[i - 1] != 0 && ::fnmatch(part.c_str(), path[i - 1].c_str(), 0) == 0) {
        next[i] = 1;
      }
    }
    std::swap(now, next);
  }
  return std::find(now.begin(), now.end(), 1) != now.end();
}

}  // namespace

Result<PathPattern> PathPattern::parse(std::string_view text) {
  const auto wrong = [&](const std::string& why) {
    return Error{Code::kInvalid, "'" + one_line(text, kShownPathBytes) + "' " + why};
  };
  PathPattern out;
  std::string_view rest = without_blanks(text);
  if (rest.empty()) return wrong("has no path: write the tool's name alone for every call");
  if (rest.size() > kPathPatternMax) return wrong("is too long for a rule");
  if (rest.starts_with("~/") || rest == "~") {
    out.in_home_ = true;
    rest.remove_prefix(1);
  } else if (rest.starts_with('~')) {
    return wrong("names the home of a user, which is not looked up: write an absolute path");
  } else if (rest.starts_with('/')) {
    out.absolute_ = true;
  }
  const bool here = rest.starts_with("./");
  while (rest.starts_with("./")) rest.remove_prefix(2);
  out.parts_ = parts_of(rest);
  for (const std::string& part : out.parts_) {
    if (part == "..")
      return wrong("leads out of its folder with '..', and paths are compared without it: write an absolute path");
    if (part == ".") return wrong("has the folder '.', and paths are compared without it: remove it");
  }
  const bool anywhere = !here && !out.absolute_ && !out.in_home_ && out.parts_.size() == 1 && !rest.ends_with('/');
  if (out.parts_.empty() && !out.absolute_ && !out.in_home_) return wrong("has no path: write '**' for every file");
  if (anywhere && out.parts_.front() != "**") out.parts_.insert(out.parts_.begin(), "**");
  return out;
}

bool PathPattern::matches(const std::string& path, const PathPlace& place, bool real) const {
  const auto in = [&](const std::string& folder) {
    std::string rest;
    if (!below(path, real ? real_path(folder) : folder, rest)) return false;
    return fits(parts_, parts_of(rest));
  };
  if (absolute_) return fits(parts_, parts_of(path));
  if (in_home_) return !place.home.empty() && in(std::string(place.home));
  if (place.roots.empty()) return in(std::string(place.start));
  for (const std::string& root : place.roots)
    if (in(root)) return true;
  return false;
}

bool PathPattern::leads_to(const std::string& path, const PathPlace& place) const {
  const auto plain = std::find_if(parts_.begin(), parts_.end(), [](const std::string& part) {
    return part.find_first_of(kWild) != std::string::npos;
  });
  if (plain == parts_.begin() || path.empty()) return false;
  const auto from = [&](std::string folder) {
    for (auto part = parts_.begin(); part != plain; ++part) folder += "/" + *part;
    const std::string real = real_path(folder);
    std::string rest;
    return !real.empty() && below(path, real, rest) &&
           fits(std::span(parts_).subspan(static_cast<std::size_t>(plain - parts_.begin())), parts_of(rest));
  };
  if (absolute_) return from("");
  if (in_home_) return !place.home.empty() && from(std::string(place.home));
  if (place.roots.empty()) return from(std::string(place.start));
  return std::any_of(place.roots.begin(), place.roots.end(), from);
}

std::vector<PathPattern::Lead> PathPattern::leads(const PathPlace& place) const {
  const auto plain = std::find_if(parts_.begin(), parts_.end(), [](const std::string& part) {
    return part.find_first_of(kWild) != std::string::npos;
  });
  std::vector<Lead> out;
  if (plain == parts_.begin()) return out;
  const auto from = [&](std::string folder) {
    for (auto part = parts_.begin(); part != plain; ++part) folder += "/" + *part;
    std::string real = real_path(folder);
    if (!real.empty() && real != folder) out.push_back({std::move(real), {plain, parts_.end()}});
  };
  if (absolute_) {
    from("");
  } else if (in_home_) {
    if (!place.home.empty()) from(std::string(place.home));
  } else if (place.roots.empty()) {
    from(std::string(place.start));
  } else {
    for (const std::string& root : place.roots) from(root);
  }
  return out;
}

bool PathPattern::fit(const std::vector<Lead>& leads, const std::string& path) {
  return std::any_of(leads.begin(), leads.end(), [&](const Lead& lead) {
    std::string rest;
    return below(path, lead.folder, rest) && (lead.rest.empty() || fits(lead.rest, parts_of(rest)));
  });
}

std::string real_path(const std::string& path) {
  std::string front = path, back;
  for (;;) {
    const std::unique_ptr<char, decltype(&std::free)> real(::realpath(front.c_str(), nullptr), &std::free);
    if (real) {
      std::string out(real.get());
      if (back.empty()) return out;
      return lexical_path(back.substr(1), out);
    }
    struct stat info {};
    if (::lstat(front.c_str(), &info) == 0) return {};  // a link to nothing, which a write would make
    const std::size_t slash = front.rfind('/');
    if (slash == std::string::npos || slash == 0) return path;
    back = front.substr(slash) + back;
    front.resize(slash);
  }
}

bool is_in_roots(const std::string& path, const PathPlace& place) {
  std::string rest;
  if (place.roots.empty()) return below(path, real_path(std::string(place.start)), rest);
  for (const std::string& root : place.roots)
    if (below(path, real_path(root), rest)) return true;
  return false;
}

bool is_below(const std::string& path, const std::string& folder) {
  std::string rest;
  return below(path, folder, rest);
}

std::string exact_path(const std::string& path) {
  std::string out;
  for (const char c : path) {
    if (kWild.find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

}  // namespace agentd
