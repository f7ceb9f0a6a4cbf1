// SPDX-License-Identifier: Apache-2.0
#pragma once
// bundled_tools.h - the tools that a run offers by itself, for commands that check hooks and rules.
//
// Threading: one thread.

#include <vector>

#include "core/app/commands/hooks_shared.h"
#include "core/tools/tool.h"

namespace agentd::app {

// The tools of the bundled workspace_tools and session_memory, which are loaded in this process during the call; no
// other plugin is loaded, and no tool is called. Empty if a run does not have them: the plugin is disabled, replaced,
// or cannot be loaded.
std::vector<Tool> bundled_tools(const App& app, const HooksHere& here, const Inventory& inventory);

// True if other plugins may provide tools, which only a run knows.
bool may_have_other_tools(const HooksHere& here, const Inventory& inventory);

}  // namespace agentd::app
