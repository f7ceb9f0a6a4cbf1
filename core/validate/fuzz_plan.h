// SPDX-License-Identifier: Apache-2.0
#pragma once
// fuzz_plan.h - what one seed means: the steps, the same on every machine.
//
// Threading: values and pure functions.

#include <cstdint>
#include <string>
#include <vector>

#include "core/validate/samples.h"

namespace agentd::validation {

struct FuzzStep {
  enum class Kind : std::uint8_t {
    kFire,    // an event at the instance
    kCancel,  // the same, cancelled before it begins
    kLate,    // the same, with a deadline that is nearly over
    kSave,    // save_state(), which the next kLoad gets
    kLoad,    // a new instance with that state takes the place of the old one
    kBend,    // the same, with bytes that nobody wrote
    kRenew,   // the instance ends and another one is made
  };
  Kind kind = Kind::kFire;
  std::uint32_t event = 0;
  std::uint64_t seed = 0;  // of its payload or bytes; never 0
};

struct FuzzPlan {
  std::uint64_t seed = 0;
  std::vector<FuzzStep> steps;
};

// REQUIRES: there are events.
FuzzPlan plan_of(std::uint64_t seed, const std::vector<std::uint32_t>& events);
// "fire before_tool_call (17)".
std::string text_of(const FuzzStep& step);
// The next number of a sequence that is the same everywhere.
std::uint64_t next_of(std::uint64_t& state);

}  // namespace agentd::validation
