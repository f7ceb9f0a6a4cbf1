// SPDX-License-Identifier: Apache-2.0
#pragma once
// hook_directories.h - finds the hook files in a list of directories, and reports what cannot be used.
//
// hook_file.h decides what a file is. Files come sorted by name within their directory. A file that looks like a hook
// but is not one becomes a problem.
//
// Threading: pure functions.

#include <sys/stat.h>
#include <sys/types.h>

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
  bool on_by_default = true;                  // false: its hooks run only when the config enables them by name
  std::vector<std::string> always_allowed{};  // names allowed without a glob in hooks.allow
  bool bundled = false;                       // shipped with the program
  // The setting that names it, such as "/home/ann/.agent/config.yaml:3: hooks.dirs"; the directory must then exist.
  std::string setting{};
};

struct HookFile {
  HookKind kind = HookKind::kNative;
  std::string name;  // "auto_compact"; "project/auto_compact" in a project's directory
  std::string path;
  Precedence precedence = Precedence::kUser;
  bool on_by_default = true;  // as in HookDirectory
  bool bundled = false;       // as in HookDirectory
  UniqueFd fd;                // the file that was checked
  struct stat info {};
  std::string sidecar;  // text of NAME.hook.json; empty = none
  std::string sidecar_problem;
};

// A file or directory that was not used. The message is one sentence that names the file and says what to do.
struct HookProblem {
  std::string path;
  std::string name;  // of the hook; empty for a directory
  std::string message;
  bool unreadable = false;  // see is_unreadable(): no run begins
  bool no_hook = false;     // the file looks like a hook but is not one
};

// True if one of `others` says the same, alone or after a prefix such as "the trust store: ".
bool is_among(const HookProblem& problem, std::span<const HookProblem> others);

// True for a hook that decides nothing although its author relies on it: a broken YAML hook of the user or the system,
// or an executable that subscribes to a misspelt event.
inline bool is_unreadable(const HookFile& file, const Error& why) {
  if (file.precedence == Precedence::kProject) return false;
  return (file.kind == HookKind::kDeclarative && why.code == Code::kInvalid) ||
         (file.kind == HookKind::kExecutable && why.code == Code::kCorrupt);
}

// A hook that was not opened: only its name is known.
struct HookName {
  std::string name;
  Precedence precedence = Precedence::kUser;
};

struct HookScan {
  std::vector<HookFile> files;
  std::vector<HookProblem> problems;
  std::vector<HookName> disabled;     // matched a disabling glob
  std::vector<HookName> not_allowed;  // matched no allowing glob
};

// A missing directory is empty; it is a problem only if a setting names it. Files of root and of `user` are trusted.
// With allowing globs only matching hooks are taken, by full name ("project/lint"). A disabling glob wins over an
// allowing one and matches a name with or without "project/".
HookScan scan_hook_directories(std::span<const HookDirectory> directories, std::span<const std::string> disable_globs,
                               uid_t user, std::span<const std::string> allow_globs = {});

// The directory among them that holds the file, or null.
const HookDirectory* directory_of(std::span<const HookDirectory> directories, const std::string& path);

// The kind of hook that a run makes of this file, or the sentence that says why it is not used. `directory` is checked
// too; null checks the file alone, as if it were in a hooks directory.
Result<HookKind> judge_hook_file(const std::string& path, const HookDirectory* directory, uid_t user);

}  // namespace agentd
