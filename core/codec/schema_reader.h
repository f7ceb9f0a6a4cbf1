// SPDX-License-Identifier: Apache-2.0
#pragma once
// schema_reader.h - reads a JSON Schema, every keyword of it, or says where it is none. Inside this room.
//
// Threading: pure.

#include <rapidjson/document.h>

#include <memory>

#include "core/base/result.h"
#include "core/codec/schema_node.h"

namespace agentd {

// The promises are those of JsonSchema::read. No node leads back to itself for one and the same value,
// and at most kSchemaLevelsMax stand behind one another for it.
constexpr int kSchemaLevelsMax = 64;
Result<std::unique_ptr<const SchemaNodes>> read_schema(const rapidjson::Value& schema);

}  // namespace agentd
