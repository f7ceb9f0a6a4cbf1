// SPDX-License-Identifier: Apache-2.0
// stop: needs minor 1, and ends the run before the tool that is called bash.
#define AGENTD_TARGET_MINOR 1u
#include <agentd/hook.hpp>

struct Stop {
  void on_before_tool_call(agentd::call& c, agentd::tool_view tool) {
    if (tool.name() == "bash") c.stop_run("no shell, and no more of this");
  }
};
AGENTD_HOOK(Stop, "org.example.corpus.stop", "1.0.0")
