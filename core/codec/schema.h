// SPDX-License-Identifier: Apache-2.0
#pragma once
// schema.h - JSON Schema: whether a value is what a schema says.
//
// Understood are drafts 4, 6, 7, 2019-09 and 2020-12 at once, as far as they agree: all of their keywords
// but unevaluatedItems, unevaluatedProperties, $dynamicRef, $dynamicAnchor, $recursiveRef,
// $recursiveAnchor and $vocabulary. What stands beside a $ref holds too, 1.0 is an integer, and "format",
// "default", the three of content and the texts for people say nothing about validity.
//
// Nothing is skipped in silence: a keyword that is not understood, a value that a keyword cannot have, a
// $ref that leads to no schema in this one or for ever in a circle, an expression that cannot be read are
// errors when the schema is read. Why no library does this: docs/adr/0017.
//
// A value may come from anybody. Expressions take linear time (ecma_regex.h), numbers are compared exactly
// (json_compare.h), recursion and work are bounded: what needs more than 1,000 schemas within one another,
// or 20 million steps, is refused with a sentence.
//
// Threading: immutable; check() may be called on many threads.

#include <memory>
#include <string_view>

#include "core/base/result.h"
#include "core/codec/json.h"

namespace agentd {

class JsonSchema {
 public:
  // `schema` is an object, or a boolean. kInvalid names the place: "at /properties/a: ..."; kUnavailable:
  // it has expressions, and their library is not installed. The schema is copied.
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
