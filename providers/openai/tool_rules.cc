// SPDX-License-Identifier: Apache-2.0
#include "providers/openai/tool_rules.h"

namespace agentd {

std::string function_schema_refusal(std::string_view name, JsonView schema) {
  const std::string head = "Invalid schema for function '" + std::string(name) + "': ";
  if (!schema.is_object() || schema["type"].string_or("") != "object")
    return head + "schema must be a JSON Schema of 'type: \"object\"', got 'type: " + schema["type"].text() + "'.";
  for (const char* const word : {"oneOf", "anyOf", "allOf", "enum", "not"})
    if (schema[word].exists())
      return head +
             "schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level.";
  if (!schema["properties"].is_object()) return head + "In context=(), object schema missing properties.";
  return {};
}

bool is_answer_format(JsonView format) {
  return is_plain_name(format["name"].string_or(""), kFunctionNameMax) && format["schema"].is_object() &&
         format["strict"].is_bool();
}

}  // namespace agentd
