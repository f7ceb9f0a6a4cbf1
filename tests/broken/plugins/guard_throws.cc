// SPDX-License-Identifier: Apache-2.0
// guard_throws.cc - a guard that throws: what it guards must not happen.
#include <agentd/hook.hpp>

#include <stdexcept>

struct GuardThrows {
  static constexpr unsigned hook_flags = AGENTD_HOOK_GATES;
  void on_before_tool_call(agentd::call&, agentd::tool_view) { throw std::runtime_error("lost my way"); }
};
AGENTD_HOOK(GuardThrows, "org.agentd.test.guard_throws", "1.0.0")
