// SPDX-License-Identifier: Apache-2.0
#pragma once
// pattern.h - glob patterns, and the ignore files that are made of them.
//
// Glob: "*" and "?" stay within one part of a path, "**" as a whole part is any number of parts,
// [a-z] and
// [!a-z] are sets, {a,b} alternatives, "\" takes the next character as it is.
// Ignore files: gitignore(5) - comments, "!", a trailing "/", patterns with a "/" anchored at the
// file's folder, the last rule that matches wins, deeper files beat outer ones.
//
// Threading: immutable once made.

#include <string>
#include <string_view>
#include <vector>

namespace workspace_tools {

class Glob {
 public:
  explicit Glob(std::string_view pattern);
  // `path` has parts separated by '/', none at its start.
  bool matches(std::string_view path) const;

 private:
  std::vector<std::vector<std::string>> alternatives_;  // each in its parts
};

// The rules of one ignore file, and those of the folders around it.
class IgnoreRules {
 public:
  enum class Verdict { kNone, kIgnore, kKeep };
  explicit IgnoreRules(std::string_view file);
  // `path` is relative to the folder of the file.
  Verdict decide(std::string_view path, bool is_directory) const;

 private:
  struct Rule {
    Glob glob;
    bool keep, only_directories;
  };
  std::vector<Rule> rules_;
};

}  // namespace workspace_tools
