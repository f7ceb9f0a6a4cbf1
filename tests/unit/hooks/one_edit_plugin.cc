// SPDX-License-Identifier: Apache-2.0
// one_edit_plugin.cc - what a plugin in C++ sees of the event that one_edit.cmake adds.
#include <agentd/hook.hpp>

#include <algorithm>
#include <string>

std::string test_event_name();
unsigned test_event_subscriptions();

namespace {

struct Watcher {
  void on_test_event(agentd::call&, agentd::notification_view) {}
};

}  // namespace

std::string test_event_name() { return std::string(name_of(agentd::event::test_event)); }

unsigned test_event_subscriptions() {
  const auto& rows = agentd::detail::rows<Watcher>;
  return static_cast<unsigned>(std::count_if(
      rows.begin(), rows.end(), [](const agentd_hook& row) { return row.event == AGENTD_EVENT_TEST_EVENT; }));
}
