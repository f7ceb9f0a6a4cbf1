// SPDX-License-Identifier: Apache-2.0
#pragma once
// schema_reader.h - parses every keyword of a JSON Schema, or names the first mistake. Inside this room.
//
// Threading: pure.

#include <rapidjson/document.h>

#include <memory>

#include "core/base/result.h"
#include "core/codec/schema_node.h"

namespace agentd {

// Has the guarantees of JsonSchema::read. No node leads back to itself for the same value, and at most kSchemaLevelsMax
// nodes follow one another for it.
constexpr int kSchemaLevelsMax = 64;
Result<std::unique_ptr<const SchemaNodes>> read_schema(const rapidjson::Value& schema);

}  // namespace agentd
