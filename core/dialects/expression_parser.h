// SPDX-License-Identifier: Apache-2.0
#pragma once
// expression_parser.h - the tree behind an Expression, and the parser that makes it (private to
// expression.cc; declarative.cc asks it where a mistake is).
//
// Threading: pure functions; a tree is immutable after parsing.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/codec/regex.h"

namespace agentd {

inline constexpr std::size_t kExpressionBytesMax = 4096;
inline constexpr int kExpressionLevelsMax = 64;  // of parentheses

struct PathStep {
  std::string key;          // of an object
  std::int64_t index = -1;  // of a list; -1 = `key` counts
};

struct ExprNode {
  enum class Kind : std::uint8_t {
    kNull,
    kBoolean,
    kNumber,
    kText,
    kPath,
    kNot,
    kNegate,  // of children[0]
    kAnd,
    kOr,          // of all children
    kArithmetic,  // children from left to right; signs[i] stands before children[i + 1]
    kEqual,
    kNotEqual,
    kLess,
    kLessEqual,
    kGreater,
    kGreaterEqual,
    kMatches,   // children[0] against `regex`
    kContains,  // children[1] in children[0]
    kIn,        // children[0] in children[1]
  };
  Kind kind = Kind::kNull;
  bool boolean = false;
  double number = 0;
  std::string text;  // of kMatches the expression as it is written
  std::vector<PathStep> path;
  std::vector<ExprNode> children;
  std::string signs;  // + - * / %
  std::optional<Regex> regex;
  std::size_t begin = 0, end = 0;  // its place in the expression
};

// What is wrong, at which byte of the expression.
struct ExpressionMistake {
  std::size_t offset = 0;
  Error error;
};

// At most kExpressionBytesMax and kExpressionLevelsMax; the tree is at most a few nodes deep for
// each level.
Result<ExprNode, ExpressionMistake> parse_expression(std::string_view text);

// "<=" and so on, for sentences; empty for what is no comparison.
std::string_view operator_text(ExprNode::Kind kind);

}  // namespace agentd
