// SPDX-License-Identifier: Apache-2.0
// refuse: a hook for the tests that refuses every compaction, and messages with the word
// "forbidden".
#include <agentd/hook.hpp>

struct Refuse {
  void on_before_compaction(agentd::call& c) { c.block("not while the tests run"); }
  void on_user_message_send(agentd::call& c, agentd::user_message_view message) {
    if (message.text().find("forbidden") != std::string_view::npos) c.block("that word is forbidden");
  }
};
AGENTD_HOOK(Refuse, "test.refuse", "1.2.3")
