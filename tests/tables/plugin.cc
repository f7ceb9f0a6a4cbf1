// SPDX-License-Identifier: Apache-2.0
// plugin.cc - what a plugin in C++, and the fake host of its tests, see of what one_of_each.cmake adds.
#include <agentd/fake_host.hpp>
#include <agentd/hook.hpp>

#include <algorithm>
#include <string>

std::string test_event_name();
unsigned test_event_subscriptions();
std::string test_event_played();

namespace {

struct Watcher {
  agentd_status on_test_event(agentd::call& c, agentd::notification_view note) {
    const agentd_kv* found = nullptr;
    const agentd_status status = c.store().call(&agentd_store::first, agentd::as_str("k"), &found);
    if (status != AGENTD_E_UNSUPPORTED) return c.fail(AGENTD_E_INTERNAL, "the fake store has no first()");
    return c.emit_text(AGENTD_ACT_TEST, agentd::as_view(note.get(&agentd_notification::origin)));
  }
};

}  // namespace

std::string test_event_name() { return std::string(name_of(agentd::event::test_event)); }

unsigned test_event_subscriptions() {
  const auto& rows = agentd::detail::rows<Watcher>;
  return static_cast<unsigned>(std::count_if(
      rows.begin(), rows.end(), [](const agentd_hook& row) { return row.event == AGENTD_EVENT_TEST_EVENT; }));
}

// The text of the new action, or why there is none.
std::string test_event_played() {
  agentd::testing::fake_host host(agentd::entry_for<Watcher>);
  host.create();
  agentd_notification note{};
  note.size = sizeof note;
  note.origin = agentd::as_str("a test");
  const agentd::testing::outcome played = host.fire(AGENTD_EVENT_TEST_EVENT, &note);
  return played.status == AGENTD_OK ? std::string(played.text(AGENTD_ACT_TEST)) : played.error;
}
