// SPDX-License-Identifier: Apache-2.0
#pragma once
// paths.h - the files that a text in a tool's input may refer to.
//
// A path is compared twice: as written, made absolute and without "." and "..", and as it is on the disk, with links
// resolved as far as they exist. It may change between this check and the tool's access; then the workspace's own
// checks apply.
//
// Threading: immutable.

#include <string>
#include <string_view>
#include <vector>

namespace guardrail {

class Places {
 public:
  // The home directories of the user and of agentd; empty = unknown.
  Places(std::string home, std::string agentd_home);

  // All absolute paths that `text` may refer to in `cwd`; empty if it is not a path.
  std::vector<std::string> paths_of(std::string_view text, std::string_view cwd) const;
  // The paths that removing `text` in `cwd` removes: a link itself, unless more than its name is given; the folder for
  // X/*. They are absolute and may contain shell globs.
  std::vector<std::string> removed_by(std::string_view text, std::string_view cwd) const;
  // True if removing `removed` removes the home directory or the system; with `also_parts` false, only for the home and
  // "/" themselves.
  bool is_everything(std::string_view removed, bool also_parts) const;
  // A rule's glob as absolute globs: "~/.ssh/**", "src/*" below cwd, "*.pem" in any folder.
  std::vector<std::string> globs_of(std::string_view glob, std::string_view cwd) const;
  // True if a path whose components may be shell globs may match `glob` or something below it.
  static bool may_reach(std::string_view glob, std::string_view path);
  // True if `glob` matches only within the folder `path`; false for names in any folder.
  static bool lies_below(std::string_view glob, std::string_view path);

 private:
  std::string expanded(std::string_view text, std::string_view cwd) const;
  const std::string home_, agentd_home_;
};

}  // namespace guardrail
