// SPDX-License-Identifier: Apache-2.0
#pragma once
// choices.h - what the person at the editor may choose for a session: mode, model and effort. One table gives the
// config options, the session modes of older clients, and the values that are accepted.
//
// Source: agentclientprotocol.com, "Session Config Options" and "Session Modes".
//
// Threading: pure functions; thread-compatible values.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/codec/json.h"
#include "core/runtime/runtime.h"
#include "core/tools/permission.h"

namespace agentd::acp {

struct Choices {
  PermissionRules::Mode mode = PermissionRules::Mode::kAsk;
  std::string model{};   // empty = the one in force
  std::string effort{};  // empty = as the settings say
};

// The choices of a session before anybody has chosen.
Choices first_choices(const Runtime& runtime);

// Writes the member configOptions, into the object that is being written; and the member modes.
void write_options(JsonWriter& out, Runtime& runtime, const Choices& choices);
void write_modes(JsonWriter& out, const Choices& choices);

// Changes one choice. kNotFound: there is no such option; kInvalid: it has no such value. The sentence lists what there
// is.
Result<void> choose(Choices& choices, Runtime& runtime, std::string_view option, std::string_view value);

}  // namespace agentd::acp
