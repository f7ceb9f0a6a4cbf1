// SPDX-License-Identifier: Apache-2.0
#pragma once
// tool_rules.h - what the rules of OpenAI's two APIs say alike of a tool, an id and a schema.
//
// Threading: pure functions.

#include <string>
#include <string_view>

#include "providers/common/rules.h"

namespace agentd {

// OpenAI's longest name of a function, and the most tools of a request.
inline constexpr std::size_t kFunctionNameMax = 64, kFunctionsMax = 128;

// What is wrong with the schema of a tool's parameters, in the API's words; empty = nothing.
std::string function_schema_refusal(std::string_view name, JsonView schema);
// A name and a schema beside `strict`, as response formats have them.
bool is_answer_format(JsonView format);

}  // namespace agentd
