// SPDX-License-Identifier: Apache-2.0
#pragma once
// checks.h - the checks: the rules that each covers, and the function that checks them.
//
// Threading: run() in a process made for it (fork.h).

#include <functional>
#include <vector>

#include "core/validate/lint.h"
#include "core/validate/report.h"
#include "core/validate/stage.h"

namespace agentd::validation {

struct Check {
  std::vector<std::uint16_t> covers;
  bool needs_instance = false;  // skipped if no instance can be made
  std::function<void(const Subject&, Reporter&)> run;
};

// The A1xx rules but those that need the dynamic linker; runs in this process.
std::vector<RuleResult> lint(const Subject& subject);
std::vector<Check> load_checks();       // A106, A2xx
std::vector<Check> hygiene_checks();    // A3xx, but for those that the parent checks: A309, A310
std::vector<Check> contract_checks();   // A4xx
std::vector<Check> endurance_checks();  // A5xx, A6xx
std::vector<Check> isolation_checks();  // A7xx

// Starts what the host starts at its first event, so that it is not attributed to the module.
void warm_up(Stage& stage);
std::string event_name(std::uint32_t event);
// Loads the module and makes an instance; null after reporting for rule `number` that it cannot.
std::unique_ptr<Instance> instance_for(Stage& stage, Reporter& out, std::uint16_t number,
                                       Instance::Options options = Instance::Options());

}  // namespace agentd::validation
