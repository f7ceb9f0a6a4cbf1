// SPDX-License-Identifier: Apache-2.0
// create_throws.cc - its constructor throws.
#include <agentd/hook.hpp>

#include <stdexcept>

struct CreateThrows {
  explicit CreateThrows(agentd::init&) { throw std::runtime_error("no licence file"); }
  void on_turn_start(agentd::call&) {}
};
AGENTD_HOOK(CreateThrows, "org.agentd.test.create_throws", "1.0.0")
