// SPDX-License-Identifier: Apache-2.0
#pragma once
// played_tools.h - the tools of processes that are played: one that only reads, and one that writes.
//
// Threading: a pure function.

#include <string>
#include <utility>
#include <vector>

#include "core/tools/tool.h"

namespace agentd::testing {

inline std::vector<Tool> read_and_write() {
  std::vector<Tool> out;
  for (const auto& [name, flags] : {std::pair("read", AGENTD_TOOL_READ_ONLY), std::pair("write", 0u)}) {
    Tool tool;
    tool.name = name;
    tool.flags = flags;
    tool.input_schema_json = R"({"type":"object"})";
    out.push_back(std::move(tool));
  }
  return out;
}

}  // namespace agentd::testing
