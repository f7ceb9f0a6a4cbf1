// SPDX-License-Identifier: Apache-2.0
#include <agentd/hook.hpp>

struct Hello {
  void on_before_tool_call(agentd::call& c, agentd::tool_view tool) {
    if (tool.name() == "bash") c.block("no shell here");
  }
  void on_agent_stop(agentd::call& c, agentd::stop_view stop) {
    if (stop.context_fill() > 0.7) c.compact();
  }
};
AGENTD_HOOK(Hello, "org.example.hello", "1.0.0")
