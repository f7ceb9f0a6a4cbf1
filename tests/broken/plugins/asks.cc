// SPDX-License-Identifier: Apache-2.0
// asks.cc - not broken: cannot do without the three services.
#include <agentd/hook.hpp>

struct Asks {
  static constexpr std::string_view hook_requires[] = {agentd::id::compactor, agentd::id::thread_factory,
                                                       agentd::id::store};
  void on_session_start(agentd::call&) {}
};
AGENTD_HOOK(Asks, "test.asks", "1.0.0")
