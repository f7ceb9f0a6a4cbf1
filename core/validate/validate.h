// SPDX-License-Identifier: Apache-2.0
#pragma once
// validate.h - a module checked by all rules, each check in a process of its own.
//
// Threading: REQUIRES a process of one thread (fork.h).

#include <functional>
#include <vector>

#include "core/validate/report.h"
#include "core/validate/subject.h"

namespace agentd::validation {

struct ValidateOptions {
  std::vector<std::uint16_t> rules;  // empty = all
  Milliseconds time{20'000};         // of each step of a check
};

// For a hook that runs where the bench's subject says. One result for each wanted rule, in order of
// number; `heard` is told of each as soon as it stands. False when it was cancelled.
bool validate(const Workbench& bench, const ValidateOptions& options, const Clock& clock, const CancelToken& cancel,
              const std::function<void(const RuleResult&)>& heard);

}  // namespace agentd::validation
