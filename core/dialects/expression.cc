// SPDX-License-Identifier: Apache-2.0
#include "core/dialects/expression.h"

#include <cmath>
#include <utility>

#include "core/base/bytes.h"
#include "core/dialects/expression_parser.h"

namespace agentd {

struct Expression::Node {
  ExprNode root;
};

namespace {

using ExprKind = ExprNode::Kind;

constexpr std::size_t kShownPartBytes = 80;

// A value that borrows its text from the tree or the payload, so that evaluation allocates nothing.
struct Value {
  enum class Type { kFailed, kNull, kBoolean, kNumber, kText, kList, kObject };
  Type type = Type::kNull;
  bool boolean = false;
  double number = 0;
  std::string_view text;
  JsonView view;  // kList, kObject

  bool is(Type wanted) const { return type == wanted; }
  bool is_container() const { return type == Type::kList || type == Type::kObject; }
};

using Type = Value::Type;

Value of_boolean(bool value) {
  Value out;
  out.type = Type::kBoolean;
  out.boolean = value;
  return out;
}

// Non-finite numbers are null: division by zero, overflow.
Value of_number(double value) {
  Value out;
  if (!std::isfinite(value)) return out;
  out.type = Type::kNumber;
  out.number = value;
  return out;
}

Value of_text(std::string_view value) {
  Value out;
  out.type = Type::kText;
  out.text = value;
  return out;
}

Value of_json(JsonView view) {
  if (view.is_null()) return {};
  if (view.is_string()) return of_text(view.string_or({}));
  if (view.is_number()) return of_number(view.number_or(0));
  if (view.is_bool()) return of_boolean(view.bool_or(false));
  Value out;
  out.type = view.is_array() ? Type::kList : Type::kObject;
  out.view = view;
  return out;
}

bool is_true(const Value& value) {
  switch (value.type) {
    case Type::kFailed:
    case Type::kNull:
      return false;
    case Type::kBoolean:
      return value.boolean;
    case Type::kNumber:
      return value.number != 0;
    case Type::kText:
      return !value.text.empty();
    case Type::kList:
    case Type::kObject:
      return true;
  }
  return false;
}

std::string_view value_type_name(const Value& value) {
  switch (value.type) {
    case Type::kFailed:
    case Type::kNull:
      return "null";
    case Type::kBoolean:
      return "a boolean";
    case Type::kNumber:
      return "a number";
    case Type::kText:
      return "a text";
    case Type::kList:
      return "a list";
    case Type::kObject:
      return "an object";
  }
  return "null";
}

// REQUIRES: `a` and `b` are not both containers.
bool equal(const Value& a, const Value& b) {
  if (a.type != b.type) return false;
  switch (a.type) {
    case Type::kFailed:
    case Type::kList:
    case Type::kObject:
      return false;
    case Type::kNull:
      return true;
    case Type::kBoolean:
      return a.boolean == b.boolean;
    case Type::kNumber:
      return a.number == b.number;
    case Type::kText:
      return a.text == b.text;
  }
  return false;
}

bool ordered(ExprKind kind, int sign) {
  if (kind == ExprKind::kLess) return sign < 0;
  if (kind == ExprKind::kLessEqual) return sign <= 0;
  return kind == ExprKind::kGreater ? sign > 0 : sign >= 0;
}

double calculated(char sign, double a, double b) {
  switch (sign) {
    case '+':
      return a + b;
    case '-':
      return a - b;
    case '*':
      return a * b;
    case '/':
      return a / b;  // by zero: not finite, which becomes null
  }
  return std::fmod(a, b);
}

// Recursion depth: a few frames per level of parentheses, which the parser bounds.
class Evaluator {
 public:
  Evaluator(JsonView payload, const std::string& text) : payload_(payload), text_(text) {}

  Value value(const ExprNode& node) {
    switch (node.kind) {
      case ExprKind::kNull:
        return {};
      case ExprKind::kBoolean:
        return of_boolean(node.boolean);
      case ExprKind::kNumber:
        return of_number(node.number);
      case ExprKind::kText:
        return of_text(node.text);
      case ExprKind::kPath:
        return path(node);
      case ExprKind::kNot:
        return negation(node);
      case ExprKind::kNegate:
        return negative(node);
      case ExprKind::kAnd:
        return joined(node, false);
      case ExprKind::kOr:
        return joined(node, true);
      case ExprKind::kArithmetic:
        return arithmetic(node);
      case ExprKind::kMatches:
        return matches(node);
      case ExprKind::kEqual:
      case ExprKind::kNotEqual:
      case ExprKind::kLess:
      case ExprKind::kLessEqual:
      case ExprKind::kGreater:
      case ExprKind::kGreaterEqual:
      case ExprKind::kContains:
      case ExprKind::kIn:
        return comparison(node);
    }
    return {};
  }

  const std::string& failure() const { return failure_; }

 private:
  Value fail(const ExprNode& node, const std::string& what) {
    const std::string_view part = std::string_view(text_).substr(node.begin, node.end - node.begin);
    failure_ = "'" + one_line(part, kShownPartBytes) + "': " + what;
    Value out;
    out.type = Type::kFailed;
    return out;
  }

  Value path(const ExprNode& node) const {
    JsonView at = payload_;
    for (const PathStep& step : node.path) {
      if (step.index < 0)
        at = at[step.key];
      else
        at = at.is_array() ? at.at(static_cast<std::size_t>(step.index)) : JsonView();
    }
    return of_json(at);
  }

  Value negation(const ExprNode& node) {
    const Value operand = value(node.children[0]);
    return operand.is(Type::kFailed) ? operand : of_boolean(!is_true(operand));
  }

  Value negative(const ExprNode& node) {
    const Value operand = value(node.children[0]);
    if (operand.is(Type::kFailed) || operand.is(Type::kNull)) return operand;
    if (!operand.is(Type::kNumber))
      return fail(node, "'-' needs a number, not " + std::string(value_type_name(operand)));
    return of_number(-operand.number);
  }

  // Stops at the first operand that decides; later operands are not evaluated.
  Value joined(const ExprNode& node, bool deciding) {
    for (const ExprNode& child : node.children) {
      const Value operand = value(child);
      if (operand.is(Type::kFailed)) return operand;
      if (is_true(operand) == deciding) return of_boolean(deciding);
    }
    return of_boolean(!deciding);
  }

  Value arithmetic(const ExprNode& node) {
    Value total = value(node.children[0]);
    if (total.is(Type::kFailed)) return total;
    for (std::size_t i = 0; i < node.signs.size(); ++i) {
      const Value next = value(node.children[i + 1]);
      if (next.is(Type::kFailed)) return next;
      for (const Value* operand : {&std::as_const(total), &next})
        if (!operand->is(Type::kNumber) && !operand->is(Type::kNull))
          return fail(node,
                      "'" + node.signs.substr(i, 1) + "' needs numbers, not " + std::string(value_type_name(*operand)));
      const bool both = total.is(Type::kNumber) && next.is(Type::kNumber);
      total = both ? of_number(calculated(node.signs[i], total.number, next.number)) : Value();
    }
    return total;
  }

  Value matches(const ExprNode& node) {
    const Value operand = value(node.children[0]);
    if (operand.is(Type::kFailed)) return operand;
    if (operand.is(Type::kNull)) return of_boolean(false);
    if (!operand.is(Type::kText))
      return fail(node, "'matches' needs a text, not " + std::string(value_type_name(operand)));
    return of_boolean(node.regex->find(operand.text, 0, {}));
  }

  Value comparison(const ExprNode& node) {
    const Value left = value(node.children[0]);
    if (left.is(Type::kFailed)) return left;
    const Value right = value(node.children[1]);
    if (right.is(Type::kFailed)) return right;
    if (node.kind == ExprKind::kContains) return holds_member(node, left, right);
    if (node.kind == ExprKind::kIn) return holds_member(node, right, left);
    if (node.kind != ExprKind::kEqual && node.kind != ExprKind::kNotEqual) return order(node, left, right);
    if (left.is_container() && right.is_container())
      return fail(node, "'" + std::string(operator_text(node.kind)) + "' cannot compare " +
                            std::string(value_type_name(left)) + " with " + std::string(value_type_name(right)));
    return of_boolean(equal(left, right) == (node.kind == ExprKind::kEqual));
  }

  Value order(const ExprNode& node, const Value& left, const Value& right) {
    if (left.is(Type::kNull) || right.is(Type::kNull)) return of_boolean(false);
    if (left.is(Type::kNumber) && right.is(Type::kNumber))
      return of_boolean(ordered(node.kind, left.number < right.number ? -1 : left.number > right.number));
    if (left.is(Type::kText) && right.is(Type::kText))
      return of_boolean(ordered(node.kind, left.text.compare(right.text)));
    return fail(node, "'" + std::string(operator_text(node.kind)) + "' cannot compare " +
                          std::string(value_type_name(left)) + " with " + std::string(value_type_name(right)));
  }

  // Substring of a text, element of a list, or key of an object.
  Value holds_member(const ExprNode& node, const Value& whole, const Value& part) {
    if (whole.is(Type::kNull)) return of_boolean(false);
    if (whole.is(Type::kList)) return of_boolean(has_element(whole.view, part));
    const bool texts = whole.is(Type::kText) || whole.is(Type::kObject);
    if (texts && part.is(Type::kNull)) return of_boolean(false);
    if (!texts || !part.is(Type::kText))
      return fail(node, "'" + std::string(operator_text(node.kind)) + "' cannot look for " +
                            std::string(value_type_name(part)) + " in " + std::string(value_type_name(whole)));
    if (whole.is(Type::kObject)) return of_boolean(whole.view[part.text].exists());
    return of_boolean(whole.text.find(part.text) != std::string_view::npos);
  }

  static bool has_element(JsonView list, const Value& wanted) {
    for (std::size_t i = 0; i < list.size(); ++i)
      if (equal(of_json(list.at(i)), wanted)) return true;
    return false;
  }

  JsonView payload_;
  const std::string& text_;
  std::string failure_;
};

std::string place_of(std::string_view text, std::size_t offset, std::string_view file, int line, int column) {
  for (std::size_t i = 0; i < offset && i < text.size(); ++i) {
    ++column;
    if (text[i] != '\n') continue;
    ++line;
    column = 1;
  }
  return std::string(file) + ":" + std::to_string(line) + ":" + std::to_string(column) + ": ";
}

}  // namespace

Expression::Expression() = default;
Expression::~Expression() = default;
Expression::Expression(const Expression&) = default;
Expression::Expression(Expression&&) noexcept = default;
Expression& Expression::operator=(const Expression&) = default;
Expression& Expression::operator=(Expression&&) noexcept = default;

Result<Expression> Expression::parse(std::string_view text, std::string_view file, int line, int column) {
  auto root = parse_expression(text);
  if (!root) {
    const ExpressionMistake& mistake = root.error();
    return Error{mistake.error.code, place_of(text, mistake.offset, file, line, column) + mistake.error.message};
  }
  Expression out;
  out.text_ = std::string(text);
  out.root_ = std::make_shared<const Node>(Node{std::move(*root)});
  return out;
}

Result<bool> Expression::holds(JsonView payload) const {
  if (root_ == nullptr) return true;
  Evaluator evaluator(payload, text_);
  const Value result = evaluator.value(root_->root);
  if (result.is(Type::kFailed)) return Error{Code::kInvalid, evaluator.failure()};
  return is_true(result);
}

}  // namespace agentd
