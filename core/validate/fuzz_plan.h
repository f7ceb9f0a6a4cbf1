// SPDX-License-Identifier: Apache-2.0
#pragma once
// fuzz_plan.h - the steps of one seed, the same on every machine.
//
// Threading: values and pure functions.

#include <cstdint>
#include <string>
#include <vector>

#include "core/validate/samples.h"

namespace agentd::validation {

struct FuzzStep {
  enum class Kind : std::uint8_t {
    kFire,    // fire an event at the instance
    kCancel,  // the same, cancelled before it begins
    kLate,    // the same, with a deadline that is nearly over
    kSave,    // save_state(), for the next kLoad
    kLoad,    // a new instance with that state replaces the old one
    kBend,    // the same, with random bytes
    kRenew,   // end the instance and make another one
  };
  Kind kind = Kind::kFire;
  std::uint32_t event = 0;
  std::uint64_t seed = 0;  // for its payload or bytes; never 0
};

struct FuzzPlan {
  std::uint64_t seed = 0;
  std::vector<FuzzStep> steps;
};

// REQUIRES: `events` is not empty.
FuzzPlan plan_of(std::uint64_t seed, const std::vector<std::uint32_t>& events);
// "fire before_tool_call (17)".
std::string text_of(const FuzzStep& step);

}  // namespace agentd::validation
