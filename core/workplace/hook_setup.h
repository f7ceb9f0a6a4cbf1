// SPDX-License-Identifier: Apache-2.0
#pragma once
// hook_setup.h - builds the plugin host's options from the configuration: directories, switches, grants.
//
// Directories in order: /etc/agentd/hooks, the project's .agent/hooks, hooks in the home directory, hooks.dirs,
// and last the bundled ones, of which workspace_tools and session_memory run unless hooks.NAME.enabled says
// otherwise. An installed file replaces the bundled one of the same name.
//
// Threading: pure functions on the file system.

#include <string>
#include <vector>

#include "core/agent/agent.h"
#include "core/config/config.h"
#include "core/host/hook_host.h"
#include "core/runtime/surroundings.h"
#include "core/workplace/project.h"

namespace agentd {

// The limits of hooks in a run: hooks.max_calls etc., and those of single hooks.
HookLimitTable hook_limits(const Config& config);

// The directory of the bundled hooks, relative to the executable: ../lib/agentd/hooks, hooks, ../../hooks. Empty
// if none exists.
std::string bundled_hooks(const std::string& executable);

// The program that runs isolated hooks, next to the executable or in ../libexec/agentd. Empty if it does not
// exist.
std::string worker_program(const std::string& executable);

// The program that makes the sandbox of a command, in the same places.
std::string cage_program(const std::string& executable);

struct HookSetup {
  HookHostOptions options;
  std::string bundled;  // directory; empty = none
};
// `dropped`: whether hooks other than the bundled ones are searched.
HookSetup hook_setup(const ProcessSurroundings& surroundings, const Config& config, const std::string& home,
                     const Project& project, bool dropped);

// Another text when the file came, went or changed.
std::string path_state(const std::string& file);

// The files of hooks that a host reads once, as far as is known without reading them: another text when one of them
// came, went or changed. Modules are not among them: a host looks at those itself.
std::string hook_files_state(const ProcessSurroundings& surroundings, const Config& config, const std::string& home,
                             const Project& project);

// The same of the file that says which of them are trusted.
std::string trust_state(const std::string& home);

// Paths that no file tool and no recipe may change: agentd's home, what it reads in the project's .agent, the targets
// of links in the home, and the user's own directories of hooks and settings that the configuration names.
std::vector<std::string> kept_paths(const ProcessSurroundings& surroundings, const Config& config,
                                    const std::string& home, const Project& project);

// kProject when the path is inside the project, also by a link or the user's configuration; the home directory, and a
// project around it, are the user's.
Precedence precedence_of(const std::string& path, const Project& project, const std::string& home);

// True also if the two paths lead to the same directory.
bool is_same_directory(const std::string& a, const std::string& b);

// The known guards, which are off if no hook runs: "these guards are off ..."; empty without guards.
std::vector<std::string> guards_off(const Config& config, const std::string& home, const Project& project,
                                    const Clock& clock);
// Notes for the user about --safe-mode: that nothing is loaded, and which guards are off.
std::vector<std::string> safe_mode_notes(const Config& config, const std::string& home, const Project& project,
                                         const Clock& clock);

// True if the file is a bundled one replaced by another of its name.
bool is_replaced(const HookSetup& setup, const std::string& path, const std::string& name);

}  // namespace agentd
