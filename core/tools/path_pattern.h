// SPDX-License-Identifier: Apache-2.0
#pragma once
// path_pattern.h - the argument of a rule about files: src/**, *.env, ~/notes/, /etc.
//
// As in gitignore: "*" and "?" stay within a name, "**" crosses folders, a pattern without a slash fits at any depth,
// and what fits a folder fits all in it. A relative pattern is about each root of the workspace.
//
// Threading: values; real_path() and the functions that take a PathPlace read the file system.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace agentd {

// The directories that paths are relative to.
struct PathPlace {
  std::string_view start;  // of relative paths in an input; absolute
  std::string_view home;   // "~"; empty = it is a name
  std::span<const std::string> roots{};
};

class PathPattern {
 public:
  // kInvalid: it can match no path.
  static Result<PathPattern> parse(std::string_view text);

  // Absolute, without "." and "..". `real`: the roots are taken without links.
  bool matches(const std::string& path, const PathPlace& place, bool real) const;
  // For a rule that forbids or asks: whether links in the pattern itself lead to a path without links.
  bool leads_to(const std::string& path, const PathPlace& place) const;
  // The same for many paths: the folders to which links in the pattern lead, and the rest of the pattern in each. None
  // for a folder that no link leads to, which matches() has.
  struct Lead {
    std::string folder;
    std::vector<std::string> rest;
  };
  std::vector<Lead> leads(const PathPlace& place) const;
  static bool fit(const std::vector<Lead>& leads, const std::string& path);

 private:
  std::vector<std::string> parts_;
  bool absolute_ = false, in_home_ = false;
};

// The path without links; the part that does not exist stays as it is. Empty: a link on the way leads to nothing.
std::string real_path(const std::string& path);
// Whether a path without links is in a root; not for an empty one.
bool is_in_roots(const std::string& path, const PathPlace& place);
// Whether an absolute path is the folder or below it, by their text.
bool is_below(const std::string& path, const std::string& folder);
// The absolute pattern that matches this path alone, with all below it.
std::string exact_path(const std::string& path);

}  // namespace agentd
