// SPDX-License-Identifier: Apache-2.0
#include "core/agent/input_schemas.h"

#include <utility>

#include "core/codec/json.h"

namespace agentd {
namespace {

// `input` without the members that are null; nullopt when there is none.
std::optional<std::string> without_nulls(JsonView input) {
  JsonWriter out;
  bool gone = false;
  out.begin_object();
  for (std::size_t i = 0; i < input.size(); ++i) {
    if (input.at(i).is_null())
      gone = true;
    else
      out.key(input.key_at(i)).value(input.at(i));
  }
  out.end_object();
  if (!gone) return std::nullopt;
  return std::string(out.text());
}

Result<JsonSchema> read(std::string_view text) {
  AGENTD_TRY(const JsonDocument document, JsonDocument::parse(text));
  return JsonSchema::read(document.root());
}

}  // namespace

const JsonSchema* InputSchemas::schema_of(const Tool& tool) {
  auto found = read_.find(tool.input_schema_json);
  if (found == read_.end()) {
    auto schema =
        tool.input_schema_json.empty() ? Result<JsonSchema>(Error{Code::kNotFound, {}}) : read(tool.input_schema_json);
    if (!schema && schema.error().code != Code::kNotFound)
      log_.write(LogLevel::kWarning, "tools",
                 "calls of " + tool.name +
                     " are not checked against its input schema, which cannot be read: " + schema.error().message);
    std::optional<JsonSchema> known;
    if (schema) known = std::move(*schema);
    found = read_.emplace(tool.input_schema_json, std::move(known)).first;
  }
  return found->second ? &*found->second : nullptr;
}

Result<void> InputSchemas::check(const Tool& tool, const ToolInput& input) {
  const JsonSchema* const schema = schema_of(tool);
  if (schema == nullptr) return {};
  AGENTD_TRY(const JsonDocument document, JsonDocument::parse(input.text()));
  auto fits = schema->check(document.root());
  if (fits) return {};
  const auto bare = without_nulls(document.root());
  if (!bare) return fits;
  AGENTD_TRY(const JsonDocument rest, JsonDocument::parse(*bare));
  return schema->check(rest.root());
}

}  // namespace agentd
