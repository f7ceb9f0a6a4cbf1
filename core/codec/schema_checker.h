// SPDX-License-Identifier: Apache-2.0
#pragma once
// schema_checker.h - checks one value against a schema. Inside this room.
//
// Its recursion is bounded, because the value may come from a model and threads have small stacks. So is its work:
// nested alternatives could otherwise take for ever.
//
// Threading: one object, one thread, one check.

#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/codec/schema_node.h"

namespace agentd {

class SchemaChecker {
 public:
  static constexpr int kDepthMax = 1000;                  // nested schemas on the way to a value
  static constexpr std::uint64_t kStepsMax = 20'000'000;  // about a second

  // kInvalid as JsonSchema::check.
  Result<void> check(const SchemaNodes& schema, const rapidjson::Value& value);

 private:
  using Value = rapidjson::Value;

  bool fits(const SchemaNode& node, const Value& value);
  bool fits_quietly(const SchemaNode& node, const Value& value);
  bool follows(const SchemaNode& node, const Value& value);
  bool is_named_value(const SchemaNode& node, const Value& value);
  bool fits_number(const SchemaNode& node, const Value& value);
  bool fits_text(const SchemaNode& node, const Value& value);
  bool fits_array(const SchemaNode& node, const Value& value);
  bool fits_contents(const SchemaNode& node, const Value& value);
  bool fits_object(const SchemaNode& node, const Value& value);
  bool fits_member(const SchemaNode& node, const Value& name, const Value& value);
  bool fits_dependents(const SchemaNode& node, const Value& value);
  bool fits_combined(const SchemaNode& node, const Value& value);
  bool has(const Value& object, std::string_view name);
  bool finds(const Regex& expression, std::string_view text);
  bool breaks(const SchemaNode& node, std::string_view keyword);
  bool below(std::string_view step);

  WorkLimit work_{kStepsMax};
  int depth_ = 0;
  bool too_deep_ = false;
  int quiet_ = 0;                   // inside alternatives that may fail without a message
  std::vector<std::string> steps_;  // the path to the mistake, last step first
  std::string rule_, before_;       // before_: "the name of "
};

}  // namespace agentd
