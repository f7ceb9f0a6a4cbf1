// SPDX-License-Identifier: Apache-2.0
#pragma once
// validate.h - checks a module against all rules, each check in a process of its own.
//
// Threading: REQUIRES a process of one thread (fork.h).

#include <functional>
#include <vector>

#include "core/validate/report.h"
#include "core/validate/subject.h"

namespace agentd::validation {

struct ValidateOptions {
  std::vector<std::uint16_t> rules;  // empty = all
  Milliseconds time{20'000};         // for each step of a check
};

// Checks the hook for where the bench's subject says it runs. One result per wanted rule, in order of number; `heard`
// is called as soon as each is final. Returns false if cancelled.
bool validate(const Workbench& bench, const ValidateOptions& options, const Clock& clock, const CancelToken& cancel,
              const std::function<void(const RuleResult&)>& heard);

}  // namespace agentd::validation
