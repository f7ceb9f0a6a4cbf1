// SPDX-License-Identifier: Apache-2.0
#pragma once
// fuzz.h - plays a module at random: a seed gives one plan, one process and, for comparison, one worker.
//
// The seed alone decides: the same seed finds the same again.
//
// Threading: REQUIRES a process of one thread (fork.h).

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/validate/fuzz_plan.h"
#include "core/validate/subject.h"

namespace agentd::validation {

struct FuzzFinding {
  std::uint64_t seed = 0;
  std::string kind;  // "crash", "hang", "illegal", "memory", "difference"
  std::string text;  // one sentence
};

struct FuzzPlay {
  std::vector<std::string> steps;  // each with its answer
  std::optional<FuzzFinding> finding;
};

class Fuzzer {
 public:
  // `bench`, `clock` and `cancel` must outlive it.
  Fuzzer(const Workbench& bench, const Clock& clock, const CancelToken& cancel)
      : bench_(bench), clock_(clock), cancel_(cancel) {}
  // Loads the module once to learn its events. kInvalid: why it cannot be played.
  Result<void> prepare();
  // Errors: kCancelled, kUnavailable.
  Result<FuzzPlay> play(std::uint64_t seed) const;

 private:
  Result<FuzzPlay> play_here(const FuzzPlan& plan) const;
  Result<FuzzPlay> compare(const FuzzPlan& plan) const;

  const Workbench& bench_;
  const Clock& clock_;
  const CancelToken& cancel_;
  std::vector<std::uint32_t> events_;
};

}  // namespace agentd::validation
