// SPDX-License-Identifier: Apache-2.0
#pragma once
// hooks_shared.h - what the commands of `agentd hooks` begin with, and how they ask.
//
// Threading: one thread.

#include <string>
#include <string_view>
#include <vector>

#include "core/app/app.h"
#include "core/app/wiring.h"
#include "core/config/config.h"
#include "core/host/inventory.h"
#include "core/workplace/hook_setup.h"
#include "core/workplace/project.h"

namespace agentd::app {

// The configuration and the hooks that it leads to.
struct HooksHere {
  Config config;
  std::string home;
  Project project;
  HookSetup setup;
};
Result<HooksHere, Failure> hooks_here(const App& app, const Arguments& arguments);
// The same from parts that are there already.
HooksHere hooks_here(const App& app, Config config, std::string home);

// Every hook, bundled ones that another replaces marked as such.
Inventory inventory_of(const App& app, const HooksHere& here);

// The source of that name or path; the failure names the nearest.
Result<const HookSource*, Failure> source_of(const Inventory& inventory, const std::string& name);

// A question to the person at standard input; anything but yes is a no, and so is what was typed
// before `prompt` was shown. Ctrl-C ends the program. REQUIRES: it is a terminal, and there is no
// SignalScope.
bool says_yes(App& app, std::string_view body, std::string_view prompt);

// "a, b"; "-" for none.
std::string joined(const std::vector<std::string>& words, std::string_view separator = ", ");

// What a definition runs, for a person who decides: "/bin/sh -c ./check.sh", "POST https://host/x".
std::string runs_text(const HookDefinition& hook);

}  // namespace agentd::app
