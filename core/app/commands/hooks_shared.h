// SPDX-License-Identifier: Apache-2.0
#pragma once
// hooks_shared.h - shared by the commands of `agentd hooks`: their start, and their questions.
//
// Threading: one thread.

#include <string>
#include <string_view>
#include <vector>

#include "core/app/app.h"
#include "core/app/failure.h"
#include "core/config/config.h"
#include "core/host/inventory.h"
#include "core/workplace/hook_setup.h"
#include "core/workplace/project.h"

namespace agentd::app {

// The configuration and its hooks.
struct HooksHere {
  Config config;
  std::string home;
  Project project;
  HookSetup setup;
};
Result<HooksHere, Failure> hooks_here(const App& app, const Arguments& arguments);
// The same from existing parts.
HooksHere hooks_here(const App& app, Config config, std::string home);

// Every hook; replaced bundled ones are marked.
Inventory inventory_of(const App& app, const HooksHere& here);

// The source with that name or path; the failure suggests the nearest.
Result<const HookSource*, Failure> source_of(const Inventory& inventory, const std::string& name);

// Asks the person at standard input. True for yes; anything else means no, and so does text typed before `prompt`
// was shown. Ctrl-C ends the program. REQUIRES: it is a terminal, and there is no SignalScope.
bool says_yes(App& app, std::string_view body, std::string_view prompt);

// "a, b"; "-" for none.
std::string joined(const std::vector<std::string>& words, std::string_view separator = ", ");

// The command or address of a definition, shown before a decision: "/bin/sh -c ./check.sh", "POST https://host/x".
std::string runs_text(const HookDefinition& hook);

}  // namespace agentd::app
