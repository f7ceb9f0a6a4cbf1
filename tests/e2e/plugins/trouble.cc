// SPDX-License-Identifier: Apache-2.0
// trouble: a hook for the tests that does at each message of the user what its configuration says.
#include <signal.h>
#include <unistd.h>
#include <agentd/hook.hpp>

#include <string_view>

class Trouble {
 public:
  explicit Trouble(agentd::init& from)
      : sleeps_(from.config_json().find("sleep") != std::string_view::npos),
        crashes_(from.config_json().find("crash") != std::string_view::npos) {}
  void on_user_message_send(agentd::call&) {
    while (sleeps_) ::sleep(1000);
    if (crashes_) ::raise(SIGSEGV);
  }

 private:
  const bool sleeps_, crashes_;
};
AGENTD_HOOK(Trouble, "org.agentd.test.trouble", "1.0.0")
