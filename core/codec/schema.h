// SPDX-License-Identifier: Apache-2.0
#pragma once
// schema.h - JSON Schema: checks a value against a schema.
//
// It supports drafts 4, 6, 7, 2019-09 and 2020-12 together, as far as they agree: all of their keywords but
// unevaluatedItems, unevaluatedProperties, $dynamicRef, $dynamicAnchor, $recursiveRef, $recursiveAnchor and
// $vocabulary. Keywords next to a $ref apply too, 1.0 is an integer, and "format", "default", the three content
// keywords and the annotations do not affect validity.
//
// Nothing is ignored silently. Reading a schema fails for an unknown keyword, a value that a keyword cannot have, a
// $ref that leads to no schema in this one or in a circle, and an invalid expression. docs/adr/0017 says why no library
// does this.
//
// A value may be hostile. Expressions take linear time (ecma_regex.h), numbers are compared exactly (json_compare.h),
// and recursion and work are bounded: a check that needs more than 1,000 nested schemas or 20 million steps is refused
// with a sentence.
//
// Threading: immutable; check() may be called on many threads.

#include <memory>

#include "core/base/result.h"
#include "core/codec/json.h"

namespace agentd {

class JsonSchema {
 public:
  // `schema` is an object or a boolean and is copied. kInvalid names the place: "at /properties/a: ..."; kUnavailable:
  // it has expressions, and their library is not installed.
  static Result<JsonSchema> read(JsonView schema);
  JsonSchema(JsonSchema&&) noexcept;
  JsonSchema& operator=(JsonSchema&&) noexcept;
  ~JsonSchema();

  // kInvalid names the place of the first mistake and the rule that it breaks: "/items/0 breaks \"type\": \"number\"".
  Result<void> check(JsonView value) const;

 private:
  struct State;
  explicit JsonSchema(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace agentd
