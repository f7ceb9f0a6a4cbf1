// SPDX-License-Identifier: Apache-2.0
#pragma once
// hook_directories.h - which hooks there are: the directories, in order, and what may be read in
// them.
//
// What a file is says hook_file.h. Files of a directory come in order of name; one that looks like
// a hook and is none is a problem.
//
// Threading: pure functions.

#include <sys/stat.h>
#include <sys/types.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/file.h"
#include "core/base/result.h"
#include "core/hooks/dispatcher.h"
#include "core/trust/hook_file.h"

namespace agentd {

struct HookDirectory {
  std::string path;  // absolute
  Precedence precedence = Precedence::kUser;
  bool on_by_default = true;                  // false: a hook of it runs only when the config enables it by name
  std::vector<std::string> always_allowed{};  // names that need no glob of hooks.allow
  bool bundled = false;                       // it came with the program
  // Where a setting names it: "/home/ann/.agent/config.yaml:3: hooks.dirs". It must exist then.
  std::string setting{};
};

struct HookFile {
  HookKind kind = HookKind::kNative;
  std::string name;  // "auto_compact"; of a project's directory "project/auto_compact"
  std::string path;
  Precedence precedence = Precedence::kUser;
  bool on_by_default = true;  // as its directory
  bool bundled = false;       // likewise
  UniqueFd fd;                // the file that was checked
  struct stat info {};
  std::string sidecar;  // text of NAME.hook.json; empty = none
  std::string sidecar_problem;
};

// Something that was not used, and what to do about it; one sentence that names the file.
struct HookProblem {
  std::string path;
  std::string name;  // of the hook; empty for a directory
  std::string message;
  bool unreadable = false;  // is_unreadable(): no run begins
  bool no_hook = false;     // the file looks like a hook and is none
};

// Whether it is a YAML hook of the user or the system with a mistake, or an executable that waits for an event whose
// name is misspelt: what its author relies on would decide nothing.
inline bool is_unreadable(const HookFile& file, const Error& why) {
  if (file.precedence == Precedence::kProject) return false;
  return (file.kind == HookKind::kDeclarative && why.code == Code::kInvalid) ||
         (file.kind == HookKind::kExecutable && why.code == Code::kCorrupt);
}

// One of which nothing but the name was looked at.
struct HookName {
  std::string name;
  Precedence precedence = Precedence::kUser;
};

struct HookScan {
  std::vector<HookFile> files;
  std::vector<HookProblem> problems;
  std::vector<HookName> disabled;     // a glob switched them off
  std::vector<HookName> not_allowed;  // no glob lets them in
};

// Directories that do not exist are none, and a problem where a setting names them. `user` is whose files are
// trusted beside root's. When there are globs to allow, only what they match is taken, by its whole name
// ("project/lint"); one that disables beats them, and matches a name with or without its "project/".
HookScan scan_hook_directories(std::span<const HookDirectory> directories, std::span<const std::string> disable_globs,
                               uid_t user, std::span<const std::string> allow_globs = {});

// The directory among them that holds the file, or null.
const HookDirectory* directory_of(std::span<const HookDirectory> directories, const std::string& path);

// What a run makes of that file: its kind, or the sentence that says why it is no hook or not used.
// `directory` is judged as well; with null the file alone is, as if it lay in a hooks directory.
Result<HookKind> judge_hook_file(const std::string& path, const HookDirectory* directory, uid_t user);

}  // namespace agentd
