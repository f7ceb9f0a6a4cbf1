// SPDX-License-Identifier: Apache-2.0
#pragma once
// counted.h - a number with its noun.
//
// Threading: pure functions.

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/bytes.h"

namespace agentd::app {

// "1 message", "1,200 messages"; for nouns whose plural ends with an s.
inline std::string counted(std::uint64_t count, std::string_view noun) {
  return with_commas(count) + " " + std::string(noun) + (count == 1 ? "" : "s");
}

}  // namespace agentd::app
