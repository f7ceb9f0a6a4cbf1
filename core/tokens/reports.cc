// SPDX-License-Identifier: Apache-2.0
#include "core/tokens/reports.h"

#include <algorithm>

namespace agentd {
namespace {

constexpr std::uint64_t kErrorMin = 500;
constexpr std::uint64_t kCutMin = 1'000;

// True if `a` is more than kFarFromEstimate times `b`.
bool is_far_above(std::uint64_t a, std::uint64_t b) { return a / kFarFromEstimate > b; }

}  // namespace

bool can_be_true(const Usage& report, std::uint64_t estimated, std::uint64_t window) {
  const std::uint64_t reported = report.prompt_tokens();
  if (reported == 0 || is_far_above(estimated, reported)) return false;
  if (is_far_above(reported, estimated) && reported > window) return false;
  return report.output <= window;
}

bool is_cut(std::uint64_t reported, std::uint64_t estimated, bool learned) {
  // An uncorrected estimate is at most 1.63 times off.
  const std::uint64_t most = learned ? reported + reported / 2 : reported * 2;
  // No window is that small, so a smaller report is meaningless.
  return reported >= kCutMin && estimated > most + kCutMin;
}

std::uint64_t unexplained_tokens(std::uint64_t reported, std::uint64_t estimated, std::uint64_t before) {
  const std::uint64_t rest = reported - std::min(reported, estimated);
  return rest > std::max(kErrorMin, estimated / 4) ? rest : std::min(rest, before);
}

}  // namespace agentd
