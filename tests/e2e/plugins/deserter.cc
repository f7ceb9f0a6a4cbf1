// SPDX-License-Identifier: Apache-2.0
// deserter: a hook for the tests whose worker dies while the host asks a model for it.
#include <unistd.h>
#include <agentd/hook.hpp>

#include <cstdlib>
#include <string_view>
#include <thread>

struct Deserter {
  static constexpr std::string_view hook_requires[] = {agentd::id::thread_factory};

  void on_user_message_send(agentd::call& c, agentd::user_message_view) {
    std::thread([] {
      ::usleep(300'000);
      std::abort();
    }).detach();
    auto thread = c.threads().open({.system = "For the deserter."});
    (void)thread->send("are you there?");
  }
};
AGENTD_HOOK(Deserter, "test.deserter", "0.0.1")
