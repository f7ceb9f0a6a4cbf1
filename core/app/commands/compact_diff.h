// SPDX-License-Identifier: Apache-2.0
#pragma once
// compact_diff.h - `agentd compact --diff`: what a compaction dropped, shortened and kept.
//
// Threading: one thread.

#include "core/app/conversations.h"

namespace agentd::app {

// Prints the diff of the boundary named by the first word, else of the last one in effect. Returns the exit code.
int show_compaction_diff(App& app, const Arguments& arguments, const Store& store, const Ulid& id);

}  // namespace agentd::app
