// SPDX-License-Identifier: Apache-2.0
#pragma once
// answer_schema.h - the schema of an answer in both of OpenAI's formats.
//
// Threading: a pure function.

#include <string_view>

#include "core/codec/json.h"

namespace agentd {

// Writes the members name, schema and strict of the open object. The provider enforces a strict schema; a schema is
// strict if its objects require all of their properties and allow no others
// (platform.openai.com/docs/guides/structured-outputs). `schema` is a JSON object.
void write_answer_schema(JsonWriter& out, std::string_view schema);

}  // namespace agentd
