// SPDX-License-Identifier: Apache-2.0
#pragma once
// expression.h - `when:` of a declarative hook: parsed once into a small tree, evaluated over the payload.
//
//   usage.current_context_window / usage.max_context_window > 0.7 and not stop_hook_active
//   tool.name == "bash" and tool.input.command matches "rm\s+-rf"
//   "deploy" in message or context.percent >= 80
//
// Values: numbers, strings, true, false, null, paths into the payload (a.b.c, a[0]). Operators, weakest first: or || /
// and && / not ! / == != < <= > >= matches contains in / + - / * / % / unary -. A missing path is null; arithmetic with
// null is null; an order comparison with null is false. Division by zero is null. `matches` searches anywhere with RE2;
// its right side is a string literal.
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

  // Parses at most 4,096 bytes and 64 levels. `line` and `column` give the text's place in the file. kInvalid:
  // "FILE:LINE:COLUMN: what", with the token's column.
  static Result<Expression> parse(std::string_view text, std::string_view file, int line, int column);

  bool empty() const { return root_ == nullptr; }
  const std::string& text() const { return text_; }
  // True if the expression holds; null, 0, "" and false do not. kInvalid: an operator got a type that it cannot take.
  Result<bool> holds(JsonView payload) const;

 private:
  struct Node;
  std::string text_;
  std::shared_ptr<const Node> root_;  // shared by copies; immutable
};

}  // namespace agentd
