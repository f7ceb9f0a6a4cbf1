// SPDX-License-Identifier: Apache-2.0
#include "core/dialects/expression_parser.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "core/base/bytes.h"

namespace agentd {
namespace {

using ExprKind = ExprNode::Kind;
using Parsed = Result<ExprNode, ExpressionMistake>;

constexpr std::size_t kShownTokenBytes = 40;
constexpr std::size_t kIndexDigitsMax = 9;

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool begins_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool continues_name(char c) { return begins_name(c) || is_digit(c); }

struct Token {
  enum class Type { kEnd, kNumber, kString, kName, kSign, kUnknown, kUnclosed };
  Type type = Type::kEnd;
  std::size_t begin = 0, end = 0;
  std::string_view text;  // a string's text between its quotes, escapes as written
};

struct Comparison {
  std::string_view text;
  ExprKind kind;
};
constexpr std::array<Comparison, 9> kComparisons{{{"==", ExprKind::kEqual},
                                                  {"!=", ExprKind::kNotEqual},
                                                  {"<=", ExprKind::kLessEqual},
                                                  {">=", ExprKind::kGreaterEqual},
                                                  {"<", ExprKind::kLess},
                                                  {">", ExprKind::kGreater},
                                                  {"matches", ExprKind::kMatches},
                                                  {"contains", ExprKind::kContains},
                                                  {"in", ExprKind::kIn}}};

// Longer signs first: "<=" is not "<".
constexpr std::array<std::string_view, 21> kSigns{"==", "!=", "<=", ">=", "&&", "||", "<", ">", "!", "+", "-",
                                                  "*",  "/",  "%",  "(",  ")",  "[",  "]", ".", "=", ","};
constexpr std::array<std::string_view, 9> kWords{"or", "and",  "not",   "matches", "contains",
                                                 "in", "true", "false", "null"};

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  Token next() {
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
    if (at_ == text_.size()) return {Token::Type::kEnd, at_, at_, {}};
    const char c = text_[at_];
    if (is_digit(c)) return take(Token::Type::kNumber, number_end());
    if (begins_name(c)) return take(Token::Type::kName, name_end(at_));
    if (c == '"' || c == '\'') return string_token(c);
    for (const std::string_view sign : kSigns)
      if (text_.substr(at_, sign.size()) == sign) return take(Token::Type::kSign, at_ + sign.size());
    return take(Token::Type::kUnknown, character_end());
  }

 private:
  Token take(Token::Type type, std::size_t end) {
    const Token token{type, at_, end, text_.substr(at_, end - at_)};
    at_ = end;
    return token;
  }

  std::size_t name_end(std::size_t at) const {
    while (at < text_.size() && continues_name(text_[at])) ++at;
    return at;
  }

  std::size_t digits_end(std::size_t at) const {
    while (at < text_.size() && is_digit(text_[at])) ++at;
    return at;
  }

  // Letters after the digits belong to the number, so that "5s" is one wrong number and not two tokens.
  std::size_t number_end() const {
    std::size_t at = digits_end(at_);
    if (at + 1 < text_.size() && text_[at] == '.' && is_digit(text_[at + 1])) at = digits_end(at + 1);
    if (at < text_.size() && (text_[at] == 'e' || text_[at] == 'E')) {
      const bool sign = at + 1 < text_.size() && (text_[at + 1] == '+' || text_[at + 1] == '-');
      const std::size_t digits = at + (sign ? 2 : 1);
      if (digits < text_.size() && is_digit(text_[digits])) at = digits_end(digits);
    }
    return name_end(at);
  }

  std::size_t character_end() const {
    std::size_t at = at_ + 1;
    while (at < text_.size() && (static_cast<unsigned char>(text_[at]) & 0xC0u) == 0x80u) ++at;
    return at;
  }

  Token string_token(char quote) {
    for (std::size_t at = at_ + 1; at < text_.size(); ++at) {
      if (text_[at] == '\\') {
        ++at;
      } else if (text_[at] == quote) {
        Token token = take(Token::Type::kString, at + 1);
        token.text = token.text.substr(1, token.text.size() - 2);
        return token;
      }
    }
    return take(Token::Type::kUnclosed, text_.size());
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

// Grammar by precedence, weakest first: any -> all -> negation -> comparison -> sum -> product -> sign -> value. Only
// parentheses recurse; a chain of one operator is a loop and makes one node.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text), lexer_(text) { advance(); }

  Parsed parse() {
    if (token_.type == Token::Type::kEnd) return wrong("the expression is empty");
    AGENTD_TRY(ExprNode root, any());
    if (token_.type != Token::Type::kEnd) return unexpected("an operator or the end");
    return root;
  }

 private:
  void advance() {
    last_end_ = token_.end;
    token_ = lexer_.next();
  }

  bool is_sign(std::string_view text) const { return token_.type == Token::Type::kSign && token_.text == text; }
  bool is_word(std::string_view text) const { return token_.type == Token::Type::kName && token_.text == text; }

  static ExpressionMistake wrong_at(std::size_t offset, std::string what) {
    return {offset, {Code::kInvalid, std::move(what)}};
  }
  ExpressionMistake wrong(std::string what) const { return wrong_at(token_.begin, std::move(what)); }

  std::string shown(const Token& token) const {
    return "'" + one_line(text_.substr(token.begin, token.end - token.begin), kShownTokenBytes) + "'";
  }

  ExpressionMistake unexpected(std::string_view wanted) const {
    if (token_.type == Token::Type::kUnclosed) return wrong("the text has no closing quote");
    if (token_.type == Token::Type::kEnd) return wrong(std::string(wanted) + " is missing at the end");
    if (is_sign("=")) return wrong("'=' compares nothing: write '=='");
    if (is_sign("[") || is_sign(","))
      return wrong("lists are not supported here: join comparisons with 'or', or use 'matches'");
    return wrong("expected " + std::string(wanted) + ", not " + shown(token_) + hint());
  }

  // A hint for a common slip such as "AND".
  std::string hint() const {
    if (token_.type == Token::Type::kUnknown && token_.text == "&") return ": write 'and' or '&&'";
    if (token_.type == Token::Type::kUnknown && token_.text == "|") return ": write 'or' or '||'";
    if (is_word("not")) return ": put 'not' before the comparison, as in 'not (a in b)'";
    if (token_.type != Token::Type::kName) return "";
    std::string word(token_.text);
    for (char& c : word) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    const bool known = word != token_.text && std::find(kWords.begin(), kWords.end(), word) != kWords.end();
    return known ? ": did you mean '" + word + "'?" : "";
  }

  ExprNode finished(ExprNode node, std::size_t begin) const {
    node.begin = begin;
    node.end = last_end_;
    return node;
  }

  Parsed any() { return joined(ExprKind::kOr, "or", "||", &Parser::all); }
  Parsed all() { return joined(ExprKind::kAnd, "and", "&&", &Parser::negation); }

  Parsed joined(ExprKind kind, std::string_view word, std::string_view sign, Parsed (Parser::*part)()) {
    const std::size_t begin = token_.begin;
    AGENTD_TRY(ExprNode first, (this->*part)());
    if (!is_word(word) && !is_sign(sign)) return first;
    ExprNode node;
    node.kind = kind;
    node.children.push_back(std::move(first));
    while (is_word(word) || is_sign(sign)) {
      advance();
      AGENTD_TRY(ExprNode next, (this->*part)());
      node.children.push_back(std::move(next));
    }
    return finished(std::move(node), begin);
  }

  Parsed negation() {
    const std::size_t begin = token_.begin;
    std::size_t count = 0;
    for (; is_word("not") || is_sign("!"); ++count) advance();
    AGENTD_TRY(ExprNode node, comparison());
    return wrapped(ExprKind::kNot, count, std::move(node), begin);
  }

  // Two operators are not the same as none: they convert the operand to a boolean or a number. Four are the same as
  // two.
  Parsed wrapped(ExprKind kind, std::size_t count, ExprNode node, std::size_t begin) {
    for (std::size_t i = count == 0 ? 0 : 2 - count % 2; i > 0; --i) {
      ExprNode outer;
      outer.kind = kind;
      outer.children.push_back(std::move(node));
      node = finished(std::move(outer), begin);
    }
    return node;
  }

  const Comparison* comparison_here() const {
    if (token_.type != Token::Type::kSign && token_.type != Token::Type::kName) return nullptr;
    for (const Comparison& each : kComparisons)
      if (each.text == token_.text) return &each;
    return nullptr;
  }

  Parsed comparison() {
    const std::size_t begin = token_.begin;
    AGENTD_TRY(ExprNode left, sum());
    const Comparison* const found = comparison_here();
    if (found == nullptr) return left;
    advance();
    ExprNode node;
    node.kind = found->kind;
    if (node.kind == ExprKind::kMatches) {
      node.text = token_.text;
      AGENTD_TRY(node.regex, regex());
      node.children.push_back(std::move(left));
    } else {
      AGENTD_TRY(ExprNode right, sum());
      node.children.push_back(std::move(left));
      node.children.push_back(std::move(right));
    }
    if (comparison_here() != nullptr) return wrong("comparisons do not chain: join them with 'and'");
    return finished(std::move(node), begin);
  }

  // The text as written: its backslashes are RE2's.
  Result<std::optional<Regex>, ExpressionMistake> regex() {
    if (token_.type == Token::Type::kUnclosed) return unexpected("a text");
    if (token_.type != Token::Type::kString) return wrong("'matches' needs a text in quotes on its right");
    if (has_control_character(token_.text))
      return wrong(
          "the expression has a control character, such as '\\b' between double quotes: put the condition in single "
          "quotes");
    auto compiled = Regex::compile(token_.text);
    if (!compiled && compiled.error().code == Code::kInvalid)
      return wrong("not a valid regular expression: " + compiled.error().message);
    if (!compiled) return ExpressionMistake{token_.begin, compiled.error()};
    advance();
    return std::optional<Regex>(std::move(*compiled));
  }

  Parsed sum() { return chain("+-", &Parser::product); }
  Parsed product() { return chain("*/%", &Parser::signed_value); }

  bool sign_among(std::string_view signs) const {
    return token_.type == Token::Type::kSign && token_.text.size() == 1 &&
           signs.find(token_.text[0]) != std::string_view::npos;
  }

  Parsed chain(std::string_view signs, Parsed (Parser::*part)()) {
    const std::size_t begin = token_.begin;
    AGENTD_TRY(ExprNode first, (this->*part)());
    if (!sign_among(signs)) return first;
    ExprNode node;
    node.kind = ExprKind::kArithmetic;
    node.children.push_back(std::move(first));
    while (sign_among(signs)) {
      node.signs += token_.text;
      advance();
      AGENTD_TRY(ExprNode next, (this->*part)());
      node.children.push_back(std::move(next));
    }
    return finished(std::move(node), begin);
  }

  Parsed signed_value() {
    const std::size_t begin = token_.begin;
    std::size_t count = 0;
    for (; is_sign("-"); ++count) advance();
    AGENTD_TRY(ExprNode node, value());
    return wrapped(ExprKind::kNegate, count, std::move(node), begin);
  }

  Parsed value() {
    switch (token_.type) {
      case Token::Type::kNumber:
        return number();
      case Token::Type::kString:
        return text();
      case Token::Type::kName:
        return word();
      case Token::Type::kSign:
        if (is_sign("(")) return group();
        break;
      case Token::Type::kEnd:
      case Token::Type::kUnknown:
      case Token::Type::kUnclosed:
        break;
    }
    return unexpected("a value");
  }

  Parsed group() {
    const std::size_t begin = token_.begin;
    if (++levels_ > kExpressionLevelsMax)
      return wrong("more than " + std::to_string(kExpressionLevelsMax) + " levels of parentheses");
    advance();
    AGENTD_TRY(ExprNode node, any());
    --levels_;
    if (!is_sign(")")) return unexpected("an operator or ')'");
    advance();
    return finished(std::move(node), begin);
  }

  Parsed number() {
    ExprNode node;
    node.kind = ExprKind::kNumber;
    const char* const end = token_.text.data() + token_.text.size();
    const auto [stop, error] = std::from_chars(token_.text.data(), end, node.number);
    if (error != std::errc() || stop != end || !std::isfinite(node.number))
      return wrong(shown(token_) + " is not a number");
    const std::size_t begin = token_.begin;
    advance();
    return finished(std::move(node), begin);
  }

  Parsed text() {
    ExprNode node;
    node.kind = ExprKind::kText;
    AGENTD_TRY(node.text, unescaped());
    const std::size_t begin = token_.begin;
    advance();
    return finished(std::move(node), begin);
  }

  Result<std::string, ExpressionMistake> unescaped() const {
    constexpr std::string_view kWritten = "\\\"'/nrt", kMeant = "\\\"'/\n\r\t";
    std::string out;
    for (std::size_t i = 0; i < token_.text.size(); ++i) {
      if (token_.text[i] != '\\') {
        out += token_.text[i];
        continue;
      }
      const char escaped = token_.text[++i];  // a backslash is never last: it would escape the quote
      const std::size_t which = kWritten.find(escaped);
      if (which == std::string_view::npos)
        return wrong_at(token_.begin + i, "the text has an unknown escape: write '\\\\' for a backslash");
      out += kMeant[which];
    }
    return out;
  }

  Parsed word() {
    if (is_word("true") || is_word("false") || is_word("null")) return constant();
    if (std::find(kWords.begin(), kWords.end(), token_.text) != kWords.end()) return unexpected("a value");
    return path();
  }

  Parsed constant() {
    ExprNode node;
    node.kind = is_word("null") ? ExprKind::kNull : ExprKind::kBoolean;
    node.boolean = is_word("true");
    const std::size_t begin = token_.begin;
    advance();
    return finished(std::move(node), begin);
  }

  Parsed path() {
    ExprNode node;
    node.kind = ExprKind::kPath;
    node.path.push_back({std::string(token_.text), -1});
    const std::size_t begin = token_.begin;
    advance();
    while (is_sign(".") || is_sign("[")) {
      const bool dot = is_sign(".");
      advance();
      AGENTD_TRY(PathStep step, dot ? member() : element());
      node.path.push_back(std::move(step));
    }
    return finished(std::move(node), begin);
  }

  Result<PathStep, ExpressionMistake> member() {
    if (token_.type != Token::Type::kName) return wrong("a name must follow '.'; elements of a list are written [0]");
    PathStep step{std::string(token_.text), -1};
    advance();
    return step;
  }

  Result<PathStep, ExpressionMistake> element() {
    PathStep step;
    if (token_.type == Token::Type::kString) {
      AGENTD_TRY(step.key, unescaped());
    } else {
      const bool whole = token_.type == Token::Type::kNumber && token_.text.size() <= kIndexDigitsMax &&
                         std::all_of(token_.text.begin(), token_.text.end(), is_digit);
      if (!whole) return wrong("brackets take a whole number, or a key in quotes");
      std::from_chars(token_.text.data(), token_.text.data() + token_.text.size(), step.index);
    }
    advance();
    if (!is_sign("]")) return unexpected("']'");
    advance();
    return step;
  }

  std::string_view text_;
  Lexer lexer_;
  Token token_;
  std::size_t last_end_ = 0;
  int levels_ = 0;
};

}  // namespace

Result<ExprNode, ExpressionMistake> parse_expression(std::string_view text) {
  if (text.size() > kExpressionBytesMax)
    return ExpressionMistake{
        0, {Code::kInvalid, "the expression has more than " + with_commas(kExpressionBytesMax) + " bytes"}};
  return Parser(text).parse();
}

std::string_view operator_text(ExprNode::Kind kind) {
  for (const Comparison& each : kComparisons)
    if (each.kind == kind) return each.text;
  return {};
}

}  // namespace agentd
