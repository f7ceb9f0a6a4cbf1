// SPDX-License-Identifier: Apache-2.0
#pragma once
// answer_schema.h - the JSON Schema that the last answer of a run is held to.
//
// The provider is asked to hold the answer to it where it can, and the model is told in words where it
// cannot; what the answer is worth is decided here.
//
// Threading: immutable.

#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/codec/schema.h"

namespace agentd {

class AnswerSchema {
 public:
  // kInvalid: the text is no JSON object, or no schema that schema.h reads; the message says where.
  static Result<AnswerSchema> read(std::string_view json);

  const std::string& json() const { return json_; }
  // The instructions for a model whose provider does not enforce the schema.
  std::string words() const;
  // The JSON value of an answer, which may stand in a fence of Markdown. kInvalid: what is wrong with it.
  Result<std::string> value_of(std::string_view answer) const;
  // The message behind an answer that does not fit.
  static std::string correction(const Error& why);

 private:
  AnswerSchema(std::string json, JsonSchema schema) : json_(std::move(json)), schema_(std::move(schema)) {}

  std::string json_;
  JsonSchema schema_;
};

}  // namespace agentd
