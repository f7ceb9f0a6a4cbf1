// SPDX-License-Identifier: Apache-2.0
#pragma once
// subagent_tool.h - the tool `task` as the model sees it, and the task that a call of it sets. Private to this room.
//
// Threading: pure functions.

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/tools/tool.h"

namespace agentd {

inline constexpr std::uint32_t kSubagentDepthMax = 2;

// The instructions of a subagent in addition to the system prompt.
std::string_view subagent_system_text();
Tool subagent_tool();
// False for a tool of that name that somebody else brings.
bool is_subagent_tool(const Tool& tool);

struct SubagentTask {
  std::string description, prompt, agent_type;
};
// kInvalid: one sentence for the model.
Result<SubagentTask> read_subagent_task(std::string_view input_json);

}  // namespace agentd
