// SPDX-License-Identifier: Apache-2.0
#pragma once
// paths.h - which file a text of a tool's input means.
//
// A path is compared twice: as it is written, made absolute and freed of "." and "..", and as it is
// on the disk, with links followed as far as they exist. It may change between this look and the
// tool's; the workspace's own checks are what holds then.
//
// Threading: immutable.

#include <string>
#include <string_view>
#include <vector>

namespace guardrail {

class Places {
 public:
  // `home` of the user and of agentd; empty = unknown.
  Places(std::string home, std::string agentd_home);

  // Every absolute path that `text` may mean in `cwd`; none for a text that is no path.
  std::vector<std::string> paths_of(std::string_view text, std::string_view cwd) const;
  // What a removal of `text` in `cwd` takes away: a link itself, unless more than its name is named;
  // the folder of X/*. Absolute paths, in which there may be globs of a shell.
  std::vector<std::string> removed_by(std::string_view text, std::string_view cwd) const;
  // Whether without `removed` there is no home directory, or no system; only the first and "/" when
  // not `also_parts`.
  bool is_everything(std::string_view removed, bool also_parts) const;
  // The glob of a rule as absolute globs: "~/.ssh/**", "src/*" below cwd, "*.pem" in any folder.
  std::vector<std::string> globs_of(std::string_view glob, std::string_view cwd) const;
  // Whether a path whose components may be globs of a shell reaches into what `glob` names.
  static bool may_reach(std::string_view glob, std::string_view path);
  // Whether what `glob` names lies in the folder `path`; false of names in any folder.
  static bool lies_below(std::string_view glob, std::string_view path);

 private:
  std::string expanded(std::string_view text, std::string_view cwd) const;
  const std::string home_, agentd_home_;
};

}  // namespace guardrail
