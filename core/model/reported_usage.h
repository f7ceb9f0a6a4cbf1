// SPDX-License-Identifier: Apache-2.0
#pragma once
// reported_usage.h - what a provider says that an answer cost, before anything believes it.
//
// Threading: a pure function.

#include <cstdint>
#include <string>

#include "core/model/provider.h"

namespace agentd {

// A hundred times the largest window that there is. Sums of such figures end far below 2^64.
inline constexpr std::uint64_t kReportedTokensMax = 1'000'000'000;

// False when a figure is beyond kReportedTokensMax.
bool is_possible(const Usage& usage);
// Takes out of the answer a report with a figure that no answer can have, so that nothing counts
// it; a report is believed or not as a whole. The sentence about it, for the user; empty = there was
// none.
std::string drop_impossible_usage(std::string_view provider, ModelResponse& response);

}  // namespace agentd
