// SPDX-License-Identifier: Apache-2.0
#pragma once
// plugin_states.h - the modules of hooks of one project, and whether each works: for those who watch a running agentd.
//
// Threading: values.

#include <cstdint>
#include <string>
#include <string_view>

namespace agentd {

struct PluginState {
  // kFailed: it cannot be used, or was not loaded; kWaits: it is not trusted, as it is new or has changed; kMissing: a
  // guard without a file.
  enum class State : std::uint8_t { kLoaded, kOff, kWaits, kMissing, kQuarantined, kFailed };
  std::string id;         // of its manifest; its name where that cannot be read
  std::string name;       // qualified
  std::string version{};  // of the loaded one; empty = unknown
  std::string path{};     // empty = not found
  std::string sha256{};   // of the file's bytes, hex; empty = it cannot be read
  std::string isolation{};
  State state = State::kLoaded;
  std::string
      why{};  // one sentence: why it is not used, or why its newest file is not; empty = its newest file is used
};
std::string_view name_of(PluginState::State state);  // "loaded"

}  // namespace agentd
