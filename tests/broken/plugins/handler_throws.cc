// SPDX-License-Identifier: Apache-2.0
// handler_throws.cc - loads, and throws in a handler.
#include <agentd/hook.hpp>

#include <stdexcept>

struct HandlerThrows {
  static constexpr int hook_priority = 10;
  void on_before_tool_call(agentd::call&, agentd::tool_view) { throw std::runtime_error("lost my way"); }
};
AGENTD_HOOK(HandlerThrows, "org.agentd.test.handler_throws", "1.0.0")
