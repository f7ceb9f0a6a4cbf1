// SPDX-License-Identifier: Apache-2.0
// turncoat: a hook for the tests that refuses to make files, and, built anew, guards nothing.
#include <agentd/hook.hpp>

#include <string_view>

class Turncoat {
 public:
  explicit Turncoat(agentd::init&) {}
#if TURNCOAT_GUARDS
  static constexpr unsigned hook_flags = AGENTD_HOOK_GATES;
  agentd_status on_before_tool_call(agentd::call& c, agentd::tool_view tool) const {
    const bool makes = std::string_view(tool.input_json()).find("touch") != std::string_view::npos;
    return makes ? c.deny("no new files") : AGENTD_OK;
  }
#else
  void on_notification(agentd::call&) {}
#endif
};
AGENTD_HOOK(Turncoat, "org.agentd.test.turncoat", TURNCOAT_GUARDS ? "1.0.1" : "1.0.2")
