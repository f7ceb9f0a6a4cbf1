// SPDX-License-Identifier: Apache-2.0
#pragma once
// schema.h - JSON Schema over RapidJSON's validator.
//
// Understood are the keywords of draft 4, and of later drafts const, numbers as exclusiveMinimum
// and exclusiveMaximum, and $defs. What would be skipped in silence (an unknown type, a keyword
// that is not understood, a $ref that leads elsewhere, an expression that cannot be read) is an
// error when the schema is read. "format", "default" and the texts for people say nothing about
// validity.
//
// Threading: immutable; check() may be called on many threads.

#include <memory>
#include <string_view>

#include "core/base/result.h"
#include "core/codec/json.h"

namespace agentd {

class JsonSchema {
 public:
  // `schema` is an object. kInvalid names the place: "at /properties/a: ...".
  static Result<JsonSchema> read(JsonView schema);
  JsonSchema(JsonSchema&&) noexcept;
  JsonSchema& operator=(JsonSchema&&) noexcept;
  ~JsonSchema();

  // kInvalid says where the first mistake is and which rule it breaks:
  // "/items/0 breaks \"type\": \"number\"".
  Result<void> check(JsonView value) const;

 private:
  struct State;
  explicit JsonSchema(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace agentd
