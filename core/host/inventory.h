// SPDX-License-Identifier: Apache-2.0
#pragma once
// inventory.h - describes every hook of every kind: shown by `hooks list`, `doctor` and `--plugins`, and recorded by
// `hooks trust`.
//
// It writes nothing and parses no untrusted file. Only look_inside() and ask_programs() run a hook.
//
// Threading: pure functions on the file system.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/clock.h"
#include "core/host/hook_host.h"

namespace agentd {

enum class HookState : std::uint8_t {
  kOn,
  kOff,       // disabled by the configuration
  kWaits,     // untrusted: new, or changed
  kBroken,    // cannot be used
  kMissing,   // a guard without a file
  kSetAside,  // quarantined
};
std::string_view name_of(HookState state);        // "on"
std::string_view name_of(Precedence precedence);  // "user"

enum class SourceKind : std::uint8_t {
  kUnknown,  // its file is not found
  kNative,
  kExecutable,
  kYaml,
  kSettings,  // of another tool
  kRecipe,
};

// The trust store's entry for a file's bytes.
enum class SourceTrust : std::uint8_t {
  kNotChecked,
  kSystem,  // the system's files need no trust
  kTrusted,
  kNew,
  kChanged,
  kWaits,    // new, in a project: not trusted until the user says so
  kUnknown,  // the trust store cannot be read
};
std::string_view name_of(SourceTrust trust);  // "system"; empty for kNotChecked

// One file that contains hooks.
struct HookSource {
  std::string name;  // qualified; the path for another tool's settings
  std::string path;  // as configured; empty = not found
  SourceKind kind = SourceKind::kUnknown;
  std::optional<Dialect> dialect;  // of another tool's settings; empty = not known
  Precedence precedence = Precedence::kUser;
  TrustEntry entry;  // what trusting it would record; no digest if it cannot be read
  SourceTrust trust = SourceTrust::kNotChecked;
  HookState state = HookState::kOn;
  std::string why_not;  // one sentence; empty if it is on
  bool guard = false;
  bool unreadable = false;            // as in HookProblem
  bool replaced = false;              // by another of its name; set by the caller, which knows the bundled ones
  std::optional<Manifest> manifest;   // native
  std::string isolation;              // for native hooks with a manifest: where it runs, as in the config
  std::vector<HookDefinition> hooks;  // for files that may be parsed; empty for native ones
  std::vector<std::string> events;    // those known without running it
  std::vector<std::string> problems;  // parts that are not supported
  NotGranted lacks{};                 // native, and on: what it asks for and does not get

  // True if its events are blocked because it does not run.
  bool blocks() const {
    return guard && (state == HookState::kWaits || state == HookState::kBroken || state == HookState::kMissing ||
                     state == HookState::kSetAside);
  }
};

// "native", "executable", "yaml", "recipe", the dialect or "settings"; empty for kUnknown.
std::string kind_text(const HookSource& source);

struct Inventory {
  std::vector<HookSource> sources;    // in load order
  std::vector<HookProblem> problems;  // directories, the trust store
};

Inventory describe_all(const HookHostOptions& options, const Clock& clock);

// One line of `hooks list`: one hook of a source.
struct HookRow {
  std::string name, kind;  // kind: as kind_text(), or "webhook"
  std::vector<std::string> events;
  std::optional<int> priority;  // absent = its module sets it when loaded
  bool shadow = false;
  HookState state = HookState::kOn;
  std::string why_not;
  const HookSource* source = nullptr;
  bool sandbox = false;  // its program runs in the sandbox of commands
};
// The rows of a source, which must outlive them.
std::vector<HookRow> rows_of(const HookSource& source, const HookHostOptions& options);

// The source with that name or path, or with a hook of that name; null if there is none.
const HookSource* find_source(const Inventory& inventory, std::string_view name_or_path);

// Reads the source again as if it were trusted, with its subscriptions in entry.events and entry.guard. An executable
// is run (`FILE hook`): REQUIRES the user's consent. kConflict: its bytes are no longer those of source.entry.
Result<HookSource> look_inside(const HookSource& source, const HookHostOptions& options, const Clock& clock, Log& log);

// Asks every enabled executable for its events (`FILE hook`), as a run does for unknown ones; an executable that cannot
// be run or does not answer as a hook becomes kBroken.
void ask_programs(Inventory& inventory, const HookHostOptions& options, const Clock& clock, Log& log);

}  // namespace agentd
