// SPDX-License-Identifier: Apache-2.0
#pragma once
// expression_parser.h - the tree of an Expression and its parser (private to expression.cc, and to declarative.cc for
// the places of mistakes).
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
  std::int64_t index = -1;  // of a list; -1 = `key` is used
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
    kArithmetic,  // children from left to right; signs[i] is before children[i + 1]
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
  std::string text;  // for kMatches the expression as written
  std::vector<PathStep> path;
  std::vector<ExprNode> children;
  std::string signs;  // + - * / %
  std::optional<Regex> regex;
  std::size_t begin = 0, end = 0;  // its place in the expression
};

// A mistake and the byte of the expression where it is.
struct ExpressionMistake {
  std::size_t offset = 0;
  Error error;
};

// At most kExpressionBytesMax and kExpressionLevelsMax; the tree has at most a few nodes per level of depth.
Result<ExprNode, ExpressionMistake> parse_expression(std::string_view text);

// "<=" etc. for messages; empty if the kind is not a comparison.
std::string_view operator_text(ExprNode::Kind kind);

}  // namespace agentd
