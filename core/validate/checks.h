// SPDX-License-Identifier: Apache-2.0
#pragma once
// checks.h - the checks behind the rules: which rules each judges, and the function that does.
//
// Threading: run() belongs to a process that was made for it (fork.h).

#include <functional>
#include <string_view>
#include <vector>

#include "core/validate/lint.h"
#include "core/validate/report.h"
#include "core/validate/stage.h"

namespace agentd::validation {

struct Check {
  std::vector<std::uint16_t> covers;
  bool needs_instance = false;  // not tried when no instance can be made
  std::function<void(const Subject&, Reporter&)> run;
};

// Of A1xx but those that only the linker can tell; in this process.
std::vector<RuleResult> lint(const Subject& subject);
std::vector<Check> load_checks();       // A106, A2xx
std::vector<Check> hygiene_checks();    // A3xx, but for what the parent sees: A309, A310
std::vector<Check> contract_checks();   // A4xx
std::vector<Check> endurance_checks();  // A5xx, A6xx
std::vector<Check> isolation_checks();  // A7xx

// Starts what the host starts at its first event, so that it is not taken for the module's.
void warm_up(Stage& stage);
std::string event_name(std::uint32_t event);
// Loads the module and makes an instance; null after it has said so of `number`.
std::unique_ptr<Instance> instance_for(Stage& stage, Reporter& out, std::uint16_t number,
                                       Instance::Options options = Instance::Options());

}  // namespace agentd::validation
