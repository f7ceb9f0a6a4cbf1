// SPDX-License-Identifier: Apache-2.0
#pragma once
// expression.h - `when:` of a declarative hook: parsed once into a small tree, evaluated over the payload.
//
//   usage.current_context_window / usage.max_context_window > 0.7 and not stop_hook_active
//   tool.name == "bash" and tool.input.command matches "rm\s+-rf"
//   "deploy" in message or context.percent >= 80
//
// Values: numbers, strings, true, false, null, paths into the payload (a.b.c, a[0]); operators by rising
// strength: or || / and && / not ! / == != < <= > >= matches contains in / + - / * / % / unary -. A path
// that is not there is null; arithmetic with null is null; an order with null is false. Division by
// zero is null. `matches` is RE2, found anywhere, its right side a string literal.
//
// Threading: immutable; copies share the tree.

#include <memory>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/codec/json.h"

namespace agentd {

class Expression {
 public:
  Expression();  // true
  ~Expression();
  Expression(const Expression&);
  Expression(Expression&&) noexcept;
  Expression& operator=(const Expression&);
  Expression& operator=(Expression&&) noexcept;

  // kInvalid: "FILE:LINE:COLUMN: what", the column that of the token; `line` and `column` are where the text begins.
  // At most 4,096 bytes and 64 levels.
  static Result<Expression> parse(std::string_view text, std::string_view file, int line, int column);

  bool empty() const { return root_ == nullptr; }
  const std::string& text() const { return text_; }
  // Whether it holds; null, 0, "" and false do not. kInvalid: an operator met a type that it cannot take.
  Result<bool> holds(JsonView payload) const;

 private:
  struct Node;
  std::string text_;
  std::shared_ptr<const Node> root_;  // shared by copies; immutable
};

}  // namespace agentd
