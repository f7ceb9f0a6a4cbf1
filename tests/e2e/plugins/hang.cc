// SPDX-License-Identifier: Apache-2.0
// hang: a hook for the tests that never returns when it is asked for the tool glob or a message with the word
// "hang", and heeds no cancel word. It says so in the log before.
#include <agentd/hook.hpp>

#include <unistd.h>

namespace {

[[noreturn]] void hang(const agentd::call& c) {
  c.log_warning("it hangs now");
  for (;;) ::pause();
}

}  // namespace

struct Hang {
  void on_before_tool_call(agentd::call& c, agentd::tool_view tool) {
    if (tool.name() == "glob") hang(c);
  }
  void on_user_message_send(agentd::call& c, agentd::user_message_view message) {
    if (message.text().find("hang") != std::string_view::npos) hang(c);
  }
};
AGENTD_HOOK(Hang, "test.hang", "0.0.1")
