// SPDX-License-Identifier: Apache-2.0
#pragma once
// prompts.h - the recipes of a project as prompts. Those that compact a conversation are left out: there is none here.
//
// Threading: thread-safe, as the workplace.

#include <cstdint>
#include <string>

#include "core/mcp/protocol.h"
#include "core/workplace/workplace.h"

namespace agentd::mcp {

// The results of these methods, one object each; the legacy and the modern era have the same.
Result<std::string, Fault> list_prompts(const Workplace& workplace, JsonView params);
Result<std::string, Fault> get_prompt(const Workplace& workplace, JsonView params);
// Another number where the list is another one.
std::uint64_t sum_of_prompts(const Workplace& workplace);
// Values of an argument of a prompt, and ids in the addresses of resources.
Result<std::string, Fault> complete(const Workplace& workplace, JsonView params);

}  // namespace agentd::mcp
