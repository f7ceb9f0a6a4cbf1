// SPDX-License-Identifier: Apache-2.0
#pragma once
// inventory.h - every hook that there is, of every kind: what `hooks list`, `doctor`
// and `--plugins` show, and what `hooks trust` may record.
//
// Nothing is written, and of what waits for trust nothing is parsed. Only look_inside() and
// ask_programs() run a hook.
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
  kOff,       // by the configuration
  kWaits,     // for trust: new, or changed
  kBroken,    // cannot be used
  kMissing,   // a guard that is not there
  kSetAside,  // by the quarantine: it crashed
};
std::string_view name_of(HookState state);        // "on"
std::string_view name_of(Precedence precedence);  // "user"

// One file that holds hooks.
struct HookSource {
  std::string name;  // qualified; of another tool's settings the path
  std::string path;  // as it is written; empty = not found
  std::string kind;  // "native", "executable", "yaml", "claude", ...
  Precedence precedence = Precedence::kUser;
  TrustEntry entry;   // what trusting it would record; its digest is empty when it cannot be read
  std::string trust;  // "system", "trusted", "new", "changed", "waits"; empty = not judged
  HookState state = HookState::kOn;
  std::string why_not;  // one sentence; empty when it is on
  bool guard = false;
  bool unreadable = false;            // as that of a HookProblem
  bool replaced = false;              // by another of its name; set by the caller, who knows the bundled ones
  std::optional<Manifest> manifest;   // native
  std::string isolation;              // native with a manifest: where it runs, as in the config
  std::vector<HookDefinition> hooks;  // of files that may be parsed; empty for native ones
  std::vector<std::string> events;    // as far as they are known without running it
  std::vector<std::string> problems;  // what could not be carried over

  // While it does not run, what it guards is blocked.
  bool blocks() const {
    return guard && (state == HookState::kWaits || state == HookState::kBroken || state == HookState::kMissing ||
                     state == HookState::kSetAside);
  }
};

struct Inventory {
  std::vector<HookSource> sources;    // in the order in which they are loaded
  std::vector<HookProblem> problems;  // directories, the trust store
};

Inventory describe_all(const HookHostOptions& options, const Clock& clock);

// One line of `hooks list`: a hook of a source.
struct HookRow {
  std::string name, kind;
  std::vector<std::string> events;
  std::optional<int> priority;  // absent = its module says so when it is loaded
  bool shadow = false;
  HookState state = HookState::kOn;
  std::string why_not;
  const HookSource* source = nullptr;
};
// The source as long as the rows.
std::vector<HookRow> rows_of(const HookSource& source, const HookHostOptions& options);

// The source of a name or path: its own, or that of one of its hooks. Null when there is none.
const HookSource* find_source(const Inventory& inventory, std::string_view name_or_path);

// The source again, with what it subscribes to in entry.events and entry.guard, read as if it were
// trusted. An executable is run (`FILE hook`): REQUIRES consent of the user. kConflict: its bytes are
// not those of source.entry any more.
Result<HookSource> look_inside(const HookSource& source, const HookHostOptions& options, const Clock& clock, Log& log);

// Asks every executable that is on for its events (`FILE hook`), as a run does of one that it does
// not know; one that cannot be run, or does not answer as a hook, is broken from then on.
void ask_programs(Inventory& inventory, const HookHostOptions& options, const Clock& clock, Log& log);

}  // namespace agentd
