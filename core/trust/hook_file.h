// SPDX-License-Identifier: Apache-2.0
#pragma once
// hook_file.h - what a file of a hooks directory is, by its name and its mode.
//
// A file is told by its name first: .so and .dll are native, .yaml and .yml declarative; dotfiles,
// *.disable and *.hook.json are passed over; only then does the executable bit count. Everything
// that says whether a file is a hook asks here.
//
// Threading: pure functions on the file system.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace agentd {

enum class HookKind : std::uint8_t { kNative, kDeclarative, kExecutable };

inline constexpr std::string_view kSidecarSuffix = ".hook.json";  // the manifest beside a module

// By the name alone; nothing for a file that only its executable bit could make a hook.
std::optional<HookKind> kind_by_name(std::string_view file);

// Dotfiles, *.disable and *.hook.json.
bool is_passed_over(std::string_view file);

struct HookFileLook {
  std::optional<HookKind> kind;  // nothing = no hook
  std::string stem;              // of the hook's name: "lint" of "lint.yaml"
  // Of what is no hook: why, and what to do about it; one sentence that begins with the path.
  std::string why_not;
  // Whether somebody has meant it as a hook: it begins with #!, is a program, or has a hook's
  // ending in capitals or with .txt behind it, or is the settings file of another tool. Backups are
  // not meant.
  bool is_meant = false;
};
// The file of that name in the open directory; `path` is for the sentence. Looks into the file only
// when neither its name nor its mode makes it a hook.
HookFileLook look_at_hook_file(int directory, const std::string& file, const std::string& path);

}  // namespace agentd
