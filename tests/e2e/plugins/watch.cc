// SPDX-License-Identifier: Apache-2.0
// watch: an observer for the tests, built for the ABI's minor that AGENTD_TARGET_MINOR says; it logs what it hears.
#include <agentd/hook.hpp>

struct Watch {
  static constexpr unsigned hook_flags = AGENTD_HOOK_OBSERVES;
  void on_before_tool_call(agentd::call&, agentd::tool_view) {}
  void on_tool_call_failed(agentd::call& c, agentd::tool_view tool) {
    c.log(AGENTD_LEVEL_WARNING, tool.is_denied() ? "it was denied" : "it failed");
  }
};
#if AGENTD_TARGET_MINOR == 0
AGENTD_HOOK(Watch, "test.watch_0", "1.0.0")
#else
AGENTD_HOOK(Watch, "test.watch_1", "1.0.0")
#endif
