// SPDX-License-Identifier: Apache-2.0
#pragma once
// settings.h - the configuration of redact.
//
// Threading: values and pure functions.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/scrub/scrubber.h"

namespace redact {

enum Target : std::uint32_t {
  kToolOutput = 1,
  kUserText = 2,
  kResponse = 4,
  kToolInput = 8,
};

struct Settings {
  agentd::ScrubOptions rules;
  std::uint32_t targets = kToolOutput | kUserText | kResponse;
};

// Reads the user's config into `out`; otherwise returns the message for the user.
std::optional<std::string> read_settings(std::string_view json, Settings& out);

}  // namespace redact
