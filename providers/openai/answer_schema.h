// SPDX-License-Identifier: Apache-2.0
#pragma once
// answer_schema.h - the schema of an answer, as both of OpenAI's formats name it.
//
// Threading: a pure function.

#include <string_view>

#include "core/codec/json.h"

namespace agentd {

// The members name, schema and strict of the object that is being written. The provider holds an answer to a strict
// schema; it takes as strict one whose objects name all of their properties as required, and allow no others
// (platform.openai.com/docs/guides/structured-outputs). `schema` is a JSON object.
void write_answer_schema(JsonWriter& out, std::string_view schema);

}  // namespace agentd
