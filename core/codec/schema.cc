// SPDX-License-Identifier: Apache-2.0
#include "core/codec/schema.h"

#include <rapidjson/document.h>

#include "core/codec/schema_checker.h"
#include "core/codec/schema_reader.h"

namespace agentd {
namespace {

const rapidjson::Value& value_of(const void* value) {
  static const rapidjson::Value kNull;
  return value == nullptr ? kNull : *static_cast<const rapidjson::Value*>(value);
}

}  // namespace

struct JsonSchema::State {
  std::unique_ptr<const SchemaNodes> nodes;
};

JsonSchema::JsonSchema(std::unique_ptr<State> state) : state_(std::move(state)) {}
JsonSchema::JsonSchema(JsonSchema&&) noexcept = default;
JsonSchema& JsonSchema::operator=(JsonSchema&&) noexcept = default;
JsonSchema::~JsonSchema() = default;

Result<JsonSchema> JsonSchema::read(JsonView schema) {
  AGENTD_TRY(auto nodes, read_schema(value_of(schema.value_)));
  return JsonSchema(std::make_unique<State>(State{std::move(nodes)}));
}

Result<void> JsonSchema::check(JsonView value) const {
  return SchemaChecker().check(*state_->nodes, value_of(value.value_));
}

}  // namespace agentd
