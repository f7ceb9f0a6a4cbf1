// SPDX-License-Identifier: Apache-2.0
#include "core/validate/fuzz_plan.h"

#include "core/validate/checks.h"
#include "core/validate/sequence.h"

namespace agentd::validation {
namespace {

constexpr std::uint64_t kPlanStepsMax = 24;

FuzzStep::Kind kind_of(std::uint64_t roll) {
  if (roll < 70) return FuzzStep::Kind::kFire;
  if (roll < 76) return FuzzStep::Kind::kCancel;
  if (roll < 82) return FuzzStep::Kind::kLate;
  if (roll < 88) return FuzzStep::Kind::kSave;
  if (roll < 92) return FuzzStep::Kind::kLoad;
  return roll < 95 ? FuzzStep::Kind::kBend : FuzzStep::Kind::kRenew;
}

std::string_view name_of(FuzzStep::Kind kind) {
  switch (kind) {
    case FuzzStep::Kind::kFire:
      return "fire";
    case FuzzStep::Kind::kCancel:
      return "fire cancelled";
    case FuzzStep::Kind::kLate:
      return "fire late";
    case FuzzStep::Kind::kSave:
      return "save";
    case FuzzStep::Kind::kLoad:
      return "load";
    case FuzzStep::Kind::kBend:
      return "load bent bytes";
    case FuzzStep::Kind::kRenew:
      return "end and create again";
  }
  return "fire";
}

}  // namespace

FuzzPlan plan_of(std::uint64_t seed, const std::vector<std::uint32_t>& events) {
  FuzzPlan out;
  out.seed = seed;
  std::uint64_t state = seed;
  const std::uint64_t count = 1 + next_of(state) % kPlanStepsMax;
  for (std::uint64_t i = 0; i < count; ++i) {
    FuzzStep step;
    step.kind = kind_of(next_of(state) % 100);
    step.event = events[next_of(state) % events.size()];
    step.seed = (next_of(state) >> 1) | 1;
    out.steps.push_back(step);
  }
  return out;
}

std::string text_of(const FuzzStep& step) {
  const bool fires =
      step.kind == FuzzStep::Kind::kFire || step.kind == FuzzStep::Kind::kCancel || step.kind == FuzzStep::Kind::kLate;
  return std::string(name_of(step.kind)) + (fires ? " " + event_name(step.event) : "");
}

}  // namespace agentd::validation
