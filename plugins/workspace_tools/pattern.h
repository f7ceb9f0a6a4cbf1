// SPDX-License-Identifier: Apache-2.0
#pragma once
// pattern.h - glob patterns, and ignore files, which consist of them.
//
// Glob: "*" and "?" stay within one part of a path, "**" as a part is any number of parts, [a-z] and [!a-z] are sets,
// {a,b} alternatives, "\" makes the next character literal. Ignore files: gitignore(5) - comments, "!", a trailing "/",
// patterns with a "/" anchored at the file's folder; the last matching rule is used, and deeper files override outer
// ones.
//
// Threading: immutable once made.

#include <string>
#include <string_view>
#include <vector>

namespace workspace_tools {

class Glob {
 public:
  explicit Glob(std::string_view pattern);
  // `path` has parts separated by '/', without one at its start.
  bool matches(std::string_view path) const;

 private:
  std::vector<std::vector<std::string>> alternatives_;  // each split into parts
};

// The rules of one ignore file.
class IgnoreRules {
 public:
  enum class Verdict { kNone, kIgnore, kKeep };
  explicit IgnoreRules(std::string_view file);
  // `path` is relative to the file's folder.
  Verdict decide(std::string_view path, bool is_directory) const;

 private:
  struct Rule {
    Glob glob;
    bool keep, only_directories;
  };
  std::vector<Rule> rules_;
};

}  // namespace workspace_tools
