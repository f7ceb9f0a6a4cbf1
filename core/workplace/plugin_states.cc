// SPDX-License-Identifier: Apache-2.0
#include "core/workplace/plugin_states.h"

namespace agentd {

std::string_view name_of(PluginState::State state) {
  switch (state) {
    case PluginState::State::kLoaded:
      return "loaded";
    case PluginState::State::kOff:
      return "off";
    case PluginState::State::kWaits:
      return "waits";
    case PluginState::State::kMissing:
      return "missing";
    case PluginState::State::kQuarantined:
      return "quarantined";
    case PluginState::State::kFailed:
      return "failed";
  }
  return "";
}

}  // namespace agentd
