// SPDX-License-Identifier: Apache-2.0
// slow: a hook for the tests that takes 15 ms for each call, as one that asks a server would.
#include <unistd.h>
#include <agentd/hook.hpp>

#include <string>
#include <string_view>

struct Slow {
  void on_before_tool_call(agentd::call&, agentd::tool_view) { ::usleep(15'000); }
  void on_agent_stop(agentd::call&, agentd::stop_view) { ::usleep(15'000); }
  std::string save_state() { return "slow"; }
  void load_state(std::string_view, std::string_view) { ::usleep(15'000); }
};
AGENTD_HOOK(Slow, "test.slow", "0.0.1")
