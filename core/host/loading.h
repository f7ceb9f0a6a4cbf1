// SPDX-License-Identifier: Apache-2.0
#pragma once
// loading.h - from a file to the hooks that it holds: read, sealed, probed, parsed.
//
// Threading: pure functions on the file system; load_executable() runs the file.

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/log.h"
#include "core/external/external_hooks.h"
#include "core/trust/hook_directories.h"

namespace agentd {

struct LoadedHooks {
  HookBytes bytes;
  std::vector<HookDefinition> hooks;
  std::vector<std::string> problems;  // what could not be carried over; whole sentences
  std::vector<SourceMistake> mistakes;
  std::vector<UnknownKey> unknown_keys;  // whose sentences are among the problems
};

// `FILE hook` prints the events that it wants, as words; an empty answer, an unknown word or an
// exit code other than 0 is kInvalid, no answer in time kBusy. `events`, when there are some, are what these very bytes
// answered before: then nothing is run. `bytes` are the file's, already trusted.
struct ProbeOptions {
  Milliseconds time{5'000};
  std::string private_copy_directory;  // for kernels that do not run memory files
  std::string cwd;
};
Result<LoadedHooks> load_executable(const HookFile& file, const std::string& bytes,
                                    const std::vector<std::string>& events, const ProbeOptions& options,
                                    const Clock& clock, Log& log);

// A script is run by what its first line names: kInvalid when that is no program, or is not named
// from the root. `bytes` are the file's first ones, that line among them.
Result<void> check_interpreter(const std::string& path, std::string_view bytes);

// A YAML file of a hooks directory.
Result<LoadedHooks> load_declarative(const HookFile& file, const std::string& bytes);

// Another tool's settings, used in place. The digest is that of what agentd understood, so that a
// change elsewhere in the file is not a change of the hooks.
struct AdaptedSource {
  std::string path;
  std::optional<Dialect> dialect;  // absent = told by the file
  // kProject when it lies in the project: then it waits for trust, as all that a repository brings.
  Precedence precedence = Precedence::kUser;
};
// "claude:~/.claude/settings.json" or a path alone.
AdaptedSource parse_adapted(std::string_view text);
Result<LoadedHooks> load_adapted(const AdaptedSource& source, uid_t user);
// Whether the problem is that a settings file lies in a hooks directory, while hooks.adapt takes it
// from there.
bool is_adapted(const HookProblem& problem, std::span<const AdaptedSource> adapted);
// Whether `why` is a mistake of the user's: what was named relies on being there and right.
inline bool is_unreadable(const AdaptedSource& source, const Error& why) {
  return source.precedence != Precedence::kProject && (why.code == Code::kInvalid || why.code == Code::kNotFound);
}

}  // namespace agentd
