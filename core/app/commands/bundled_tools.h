// SPDX-License-Identifier: Apache-2.0
#pragma once
// bundled_tools.h - the tools that a run would offer of its own, for commands that check what hooks
// and rules say of them.
//
// Threading: one thread.

#include <vector>

#include "core/app/commands/hooks_shared.h"
#include "core/tools/tool.h"

namespace agentd::app {

// The tools of the bundled workspace_tools, which is loaded in this process for the length of the
// call; no other plugin is, and nothing is called. Empty where a run has them not: it is off,
// another plugin takes its place, or it cannot be loaded.
std::vector<Tool> bundled_tools(const App& app, const HooksHere& here, const Inventory& inventory);

// Whether other plugins may bring tools, which only a run knows.
bool may_have_other_tools(const HooksHere& here, const Inventory& inventory);

}  // namespace agentd::app
