// SPDX-License-Identifier: Apache-2.0
#pragma once
// hook_file.h - decides whether a file of a hooks directory is a hook, and of which kind.
//
// The name decides first: .so and .dll are native, .yaml and .yml declarative; dotfiles, *.disable and *.hook.json are
// skipped. Any other file is a hook if it is executable. This is the only place that decides it.
//
// Threading: pure functions on the file system.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace agentd {

enum class HookKind : std::uint8_t { kNative, kDeclarative, kExecutable };

inline constexpr std::string_view kSidecarSuffix = ".hook.json";  // the manifest beside a module

// The kind by name alone; nothing for a file that would need the executable bit.
std::optional<HookKind> kind_by_name(std::string_view file);

// True for dotfiles, *.disable and *.hook.json.
bool is_passed_over(std::string_view file);

struct HookFileLook {
  std::optional<HookKind> kind;  // nothing = not a hook
  std::string stem;              // the hook's name without the ending: "lint" of "lint.yaml"
  // Why the file is not a hook, and what to do; one sentence that begins with the path.
  std::string why_not;
  // True if the author probably meant a hook: the file begins with #!, is a program, has a hook's ending in capitals or
  // followed by .txt, or is another tool's settings file. Backups do not count.
  bool is_meant = false;
};
// Judges the named file of the open directory; `path` is used in the sentence. Reads the file only if neither its name
// nor its mode makes it a hook.
HookFileLook look_at_hook_file(int directory, const std::string& file, const std::string& path);

}  // namespace agentd
