// SPDX-License-Identifier: Apache-2.0
#include "providers/openai/answer_schema.h"

#include <algorithm>
#include <string>
#include <vector>

namespace agentd {
namespace {

bool is_closed(JsonView object) {
  if (object["additionalProperties"].bool_or(true)) return false;
  const JsonView required = object["required"], properties = object["properties"];
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < required.size(); ++i) names.push_back(required.at(i).string_or({}));
  for (std::size_t i = 0; i < properties.size(); ++i)
    if (std::find(names.begin(), names.end(), properties.key_at(i)) == names.end()) return false;
  return true;
}

bool holds_objects(JsonView schema) {
  return schema["properties"].is_object() || schema["type"].string_or("") == "object";
}

// True if every object in it is closed, at any depth.
bool is_strict(JsonView value) {
  if (value.is_object() && holds_objects(value) && !is_closed(value)) return false;
  for (std::size_t i = 0; i < value.size(); ++i)
    if (!is_strict(value.at(i))) return false;
  return true;
}

}  // namespace

void write_answer_schema(JsonWriter& out, std::string_view schema) {
  const auto document = JsonDocument::parse(schema);
  const bool object = document && document->root()["type"].string_or("") == "object";
  out.member("name", "answer").key("schema").raw(schema);
  out.member("strict", object && is_strict(document->root()));
}

}  // namespace agentd
