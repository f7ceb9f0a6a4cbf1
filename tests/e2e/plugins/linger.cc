// SPDX-License-Identifier: Apache-2.0
// linger: a hook for the tests that does not return when a session ends.
#include <unistd.h>
#include <agentd/hook.hpp>

struct Linger {
  void on_session_end(agentd::call&) {
    for (;;) ::pause();
  }
};
AGENTD_HOOK(Linger, "org.agentd.test.linger", "1.0.0")
