// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "core/compaction/compaction.h"

namespace agentd {
namespace {

template <std::size_t N>
std::string_view pick(const std::array<std::string_view, N>& names, std::uint32_t value) {
  return value < N ? names[value] : std::string_view("?");
}

constexpr std::array<std::string_view, 3> kTriggers{"?", "manual", "auto"};
constexpr std::array<std::string_view, 5> kReasons{"?", "threshold", "overflow", "manual", "hook"};
constexpr std::array<std::string_view, 6> kPhases{"?",         "pre_request", "mid_turn",
                                                  "post_turn", "standalone",  "overflow"};
constexpr std::array<std::string_view, 4> kStrategies{"default", "full", "tail", "users"};
constexpr std::array<std::string_view, 6> kResults{"?", "applied", "degraded", "noop", "failed", "vetoed"};
constexpr std::array<std::string_view, 7> kMethods{"?", "summary", "chunked", "hook", "replace", "prune", "truncate"};

}  // namespace

std::string_view trigger_name(std::uint32_t trigger) { return pick(kTriggers, trigger); }
std::string_view reason_name(std::uint32_t reason) { return pick(kReasons, reason); }
std::string_view phase_name(std::uint32_t phase) { return pick(kPhases, phase); }
std::string_view strategy_name(std::uint32_t strategy) { return pick(kStrategies, strategy); }
std::string_view result_name(std::uint32_t result) { return pick(kResults, result); }
std::string_view method_name(std::uint32_t method) { return pick(kMethods, method); }

Result<std::uint32_t> parse_strategy(std::string_view name) {
  for (std::uint32_t i = 0; i < kStrategies.size(); ++i)
    if (kStrategies[i] == name) return i;
  return Error{Code::kInvalid, "unknown strategy '" + std::string(name) + "': use full, tail or users"};
}

}  // namespace agentd
