// SPDX-License-Identifier: Apache-2.0
#pragma once
// compaction_text.h - the result of a compaction, for people and for programs.
//
// Threading: pure functions.

#include <string>

#include "core/agent/agent.h"

namespace agentd::app {

// The exit code of a compacting command: blocked, failed, or done.
int compaction_exit(std::uint32_t outcome);

// "Compacted conversation ID", "Reduced from N messages to ...", "Context: ...": three lines.
std::string compacted_text(const std::string& id, const CompactionReport& report);

// One object of type compaction_result.
std::string compaction_json(const std::string& id, const CompactionReport& report, bool dry_run);

}  // namespace agentd::app
