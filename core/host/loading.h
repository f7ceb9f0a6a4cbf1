// SPDX-License-Identifier: Apache-2.0
#pragma once
// loading.h - loads the hooks of a file: reads, seals, probes and parses it.
//
// Threading: pure functions on the file system; load_executable() runs the file.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/log.h"
#include "core/external/external_hooks.h"
#include "core/trust/hook_directories.h"

namespace agentd {

// Links resolved; the path itself where that fails.
std::string canonical_path(const std::string& path);

struct LoadedHooks {
  HookBytes bytes;
  std::vector<HookDefinition> hooks;
  std::vector<std::string> problems;  // unsupported parts; complete sentences
  std::vector<SourceMistake> mistakes;
  std::vector<UnknownKey> unknown_keys;  // their sentences are also in `problems`
};

// Loads an executable. `FILE hook` prints its events as words; an empty answer, an unknown word or an exit code other
// than 0 is kInvalid, no answer in time kBusy. Non-empty `events` are the earlier answer of the same bytes: then
// nothing is run. `bytes` are the file's, already trusted.
struct ProbeOptions {
  Milliseconds time{5'000};
  std::string private_copy_directory;  // for kernels that do not run memory files
  std::string cwd;
  bool sandbox = false;  // it runs in one of `cages`, or not at all
  MakeHookCage cages{};
};
Result<LoadedHooks> load_executable(const HookFile& file, const std::string& bytes,
                                    const std::vector<std::string>& events, const ProbeOptions& options,
                                    const Clock& clock, Log& log);

// Checks a script's first line: kInvalid if its interpreter is not a program, or not named by an absolute path. `bytes`
// begin with that line.
Result<void> check_interpreter(const std::string& path, std::string_view bytes);

// Loads a YAML file of a hooks directory.
Result<LoadedHooks> load_declarative(const HookFile& file, const std::string& bytes);

// Another tool's settings, used in place. The digest covers only the parts that agentd uses, so that other changes in
// the file do not affect trust.
struct AdaptedSource {
  std::string path;
  std::optional<Dialect> dialect;  // absent = guessed from the file
  // kProject if it is in the project: then it needs trust like everything in a repository.
  Precedence precedence = Precedence::kUser;
  std::string origin{};  // of the setting that names it: "/home/ann/.agent/config.yaml:7"; empty = no setting
};
// Parses "claude:~/.claude/settings.json" or a path alone.
AdaptedSource parse_adapted(std::string_view text);
Result<LoadedHooks> load_adapted(const AdaptedSource& source, uid_t user);
// True if the problem is only that a settings file is in a hooks directory, and hooks.adapt uses it from there.
bool is_adapted(const HookProblem& problem, std::span<const AdaptedSource> adapted);
// True if `why` is a mistake of the user's: the named file must exist and be valid.
inline bool is_unreadable(const AdaptedSource& source, const Error& why) {
  return source.precedence != Precedence::kProject && (why.code == Code::kInvalid || why.code == Code::kNotFound);
}

}  // namespace agentd
