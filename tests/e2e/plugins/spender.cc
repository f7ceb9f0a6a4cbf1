// SPDX-License-Identifier: Apache-2.0
// spender: a hook for the tests that opens one model thread after the other in a call, and asks each, until it is
// refused.
#include <agentd/hook.hpp>

#include <string>

struct Spender {
  static constexpr std::string_view hook_requires[] = {agentd::id::thread_factory};

  agentd_status on_agent_stop(agentd::call& c, agentd::stop_view) {
    for (int asked = 0;; ++asked) {
      const auto thread = c.threads().open();
      const auto reply = thread ? thread->send("how much?") : agentd::result<agentd::reply_view>(thread.status());
      if (reply) continue;
      c.system_message("asked " + std::to_string(asked) +
                       " times: " + std::string(agentd::status_text(reply.status())));
      return reply.status();
    }
  }
};
AGENTD_HOOK(Spender, "test.spender", "1.0.0")
