// SPDX-License-Identifier: Apache-2.0
#pragma once
// compact_diff.h - `agentd compact --diff`: what a compaction dropped, shortened and kept.
//
// Threading: one thread.

#include "core/app/conversations.h"

namespace agentd::app {

// Of the boundary that the first word names, else of the last one that counts. Returns the exit code.
int show_compaction_diff(App& app, const Arguments& arguments, const Store& store, const Ulid& id);

}  // namespace agentd::app
