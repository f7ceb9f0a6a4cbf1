// SPDX-License-Identifier: Apache-2.0
#pragma once
// results.h - tools and their results, as MCP has them.
//
// Threading: pure functions.

#include <cstdint>
#include <string>
#include <vector>

#include "core/agent/agent.h"
#include "core/codec/json.h"
#include "core/tools/tool.h"

namespace agentd::mcp {

// A tool in a list. Annotations are hints for people: agentd's rules decide.
void write_tool(JsonWriter& out, const Tool& tool);
// Another number where the list is another one.
std::uint64_t sum_of_tools(const std::vector<Tool>& tools);

// The result of a tool. `own`: one of agentd's own, whose text is its structured content.
std::string tool_result(const DirectReport& report, bool own);
// One without content but for a sentence.
std::string tool_failure(std::string_view why);
// The result of one of agentd's own tools. A text that hooks have made something else is its message.
std::string own_result(std::string_view json);

}  // namespace agentd::mcp
