// SPDX-License-Identifier: Apache-2.0
#pragma once
// redacted.h - how a THINKING block stores thinking that the provider encrypted.
//
// Such a block has no text. Its `name` is this word, and `opaque` holds the provider's bytes, which are sent back
// unchanged.
//
// Threading: constants.

#include <string_view>

namespace agentd {

inline constexpr std::string_view kRedactedThinking = "redacted";

// The provider's name in origins.
inline constexpr std::string_view kAnthropic = "anthropic";

}  // namespace agentd
