// SPDX-License-Identifier: Apache-2.0
#pragma once
// redacted.h - how thinking that the provider encrypted lives in a THINKING block.
//
// Such a block has no text; `name` is this word and `opaque` holds the provider's bytes, which go back to
// it unchanged.
//
// Threading: constants.

#include <string_view>

namespace agentd {

inline constexpr std::string_view kRedactedThinking = "redacted";

// The provider's name, as origins have it.
inline constexpr std::string_view kAnthropic = "anthropic";

}  // namespace agentd
