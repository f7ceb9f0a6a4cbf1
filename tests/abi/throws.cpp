// SPDX-License-Identifier: Apache-2.0
// throws.cpp - a hook whose handlers throw all that can be thrown; the SDK must let none of it out.
#include <agentd/hook.hpp>

#include <new>
#include <stdexcept>
#include <string>
#include <vector>

struct Throws {
  void on_before_tool_call(agentd::call&, agentd::tool_view tool) {
    if (tool.name() == "memory") throw std::bad_alloc();
    if (tool.name() == "number") throw 7;
    seen.emplace_back(tool.name());
    throw std::runtime_error("broken by " + seen.back());
  }
  std::vector<std::string> seen;
};
AGENTD_HOOK(Throws, "org.example.throws", "1.0.0")
