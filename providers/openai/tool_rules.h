// SPDX-License-Identifier: Apache-2.0
#pragma once
// tool_rules.h - the common rules of OpenAI's two APIs for a tool, an id and a schema.
//
// Threading: pure functions.

#include <string>
#include <string_view>

#include "providers/common/rules.h"

namespace agentd {

// OpenAI's longest function name, and the most tools of a request.
inline constexpr std::size_t kFunctionNameMax = 64, kFunctionsMax = 128;

// The mistake in a tool's parameter schema, in the API's words; empty = none.
std::string function_schema_refusal(std::string_view name, JsonView schema);
// True for a name and a schema with `strict`, as in response formats.
bool is_answer_format(JsonView format);

}  // namespace agentd
