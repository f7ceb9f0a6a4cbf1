// SPDX-License-Identifier: Apache-2.0
#pragma once
// reported_usage.h - checks a provider's usage report before it is used.
//
// Threading: a pure function.

#include <cstdint>
#include <string>

#include "core/model/provider.h"

namespace agentd {

// A hundred times the largest existing window. Sums of such figures stay far below 2^64.
inline constexpr std::uint64_t kReportedTokensMax = 1'000'000'000;

// False when a figure exceeds kReportedTokensMax.
bool is_possible(const Usage& usage);
// Removes a report with an impossible figure from the answer, as a whole, so that it is not counted. Returns the
// sentence about it for the user; empty = nothing was removed.
std::string drop_impossible_usage(std::string_view provider, ModelResponse& response);

}  // namespace agentd
