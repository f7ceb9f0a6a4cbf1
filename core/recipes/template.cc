// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "core/recipes/recipes.h"

namespace agentd {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";
constexpr int kDepthMax = 64;  // nested parentheses
constexpr std::string_view kKnown = "use .name, if, else, end, default, eq, ne, not, and, or";

bool is_blank_char(char c) { return kBlanks.find(c) != std::string_view::npos; }

std::string_view trimmed_left(std::string_view text) {
  const auto begin = text.find_first_not_of(kBlanks);
  return begin == std::string_view::npos ? std::string_view() : text.substr(begin);
}

std::string_view trimmed_right(std::string_view text) { return text.substr(0, text.find_last_not_of(kBlanks) + 1); }

bool is_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }

// The value of one expression; a truth value is "true" or empty.
struct Value {
  std::string text;
  bool literal = false;
};

std::string truth(bool yes) { return yes ? "true" : ""; }

// A pipeline: operands, calls, parentheses. Every mistake is an Error without a place.
class Expression {
 public:
  Expression(std::string_view text, const std::map<std::string, std::string>& values, std::vector<std::string>* names)
      : rest_(text), values_(values), names_(names) {}

  Result<std::string> whole() {
    AGENTD_TRY(const Value value, pipeline());
    if (!rest_.empty()) return not_understood(std::string(rest_));
    return value.text;
  }

 private:
  static Error wrong(const std::string& what) { return {Code::kInvalid, what}; }
  static Error not_understood(const std::string& what) {
    return wrong("'" + what + "' is not supported: " + std::string(kKnown));
  }

  void skip_blanks() { rest_ = trimmed_left(rest_); }
  bool ends() {
    skip_blanks();
    return rest_.empty() || rest_.front() == '|' || rest_.front() == ')';
  }

  Result<Value> pipeline() {
    AGENTD_TRY(Value value, command(std::nullopt));
    for (skip_blanks(); rest_.starts_with('|'); skip_blanks()) {
      rest_.remove_prefix(1);
      AGENTD_TRY(value, command(std::move(value)));
    }
    return value;
  }

  // `piped` follows the written arguments.
  Result<Value> command(std::optional<Value> piped) {
    skip_blanks();
    const std::string_view from = rest_;
    std::size_t length = 0;
    while (length < rest_.size() && is_word(rest_[length])) ++length;
    if (length == 0) {
      AGENTD_TRY(Value value, operand());
      if (piped) return wrong("'|' must be followed by a function, such as default");
      return value;
    }
    const std::string name(from.substr(0, length));
    rest_.remove_prefix(length);
    std::vector<Value> arguments;
    while (!ends()) {
      AGENTD_TRY(Value next, operand());
      arguments.push_back(std::move(next));
    }
    if (piped) arguments.push_back(std::move(*piped));
    return call(name, arguments, from.substr(0, from.size() - rest_.size()));
  }

  Result<Value> operand() {
    skip_blanks();
    const char first = rest_.empty() ? '\0' : rest_.front();
    if (first == '.') return variable();
    if (first == '"') return quoted();
    if (first == '`') return raw();
    if (first == '(') return parentheses();
    return not_understood(std::string(rest_));
  }

  Result<Value> variable() {
    std::size_t length = 1;
    while (length < rest_.size() && is_word(rest_[length])) ++length;
    const std::string name(rest_.substr(1, length - 1));
    if (name.empty() ||
        (length < rest_.size() && rest_[length] != ')' && rest_[length] != '|' && !is_blank_char(rest_[length])))
      return not_understood(std::string(rest_));
    rest_.remove_prefix(length);
    if (names_ != nullptr && std::find(names_->begin(), names_->end(), name) == names_->end()) names_->push_back(name);
    const auto found = values_.find(name);
    return Value{found == values_.end() ? std::string() : found->second, false};
  }

  Result<Value> quoted() {
    Value out{{}, true};
    for (std::size_t i = 1; i < rest_.size(); ++i) {
      char c = rest_[i];
      if (c == '"') {
        rest_.remove_prefix(i + 1);
        return out;
      }
      if (c == '\\' && ++i < rest_.size()) {
        c = rest_[i] == 'n' ? '\n' : rest_[i] == 't' ? '\t' : rest_[i];
        if (c == rest_[i] && c != '"' && c != '\\')
          return wrong(std::string("\\") + c + " is not a supported escape in a string");
      }
      out.text += c;
    }
    return wrong("a string has no closing \"");
  }

  Result<Value> raw() {
    const std::size_t close = rest_.find('`', 1);
    if (close == std::string_view::npos) return wrong("a string has no closing `");
    Value out{std::string(rest_.substr(1, close - 1)), true};
    rest_.remove_prefix(close + 1);
    return out;
  }

  Result<Value> parentheses() {
    if (++depth_ > kDepthMax) return wrong("there are too many parentheses");
    rest_.remove_prefix(1);
    AGENTD_TRY(Value value, pipeline());
    skip_blanks();
    if (!rest_.starts_with(')')) return wrong("( has no )");
    rest_.remove_prefix(1);
    --depth_;
    return value;
  }

  Result<Value> call(const std::string& name, const std::vector<Value>& arguments, std::string_view all) const {
    if (name == "default") return use_default(arguments);
    if (name == "eq" || name == "ne") {
      if (arguments.size() < 2 || (name == "ne" && arguments.size() > 2))
        return wrong("{{" + name + "}} needs two arguments");
      const bool same = std::any_of(arguments.begin() + 1, arguments.end(),
                                    [&](const Value& each) { return each.text == arguments[0].text; });
      return Value{truth(same == (name == "eq")), false};
    }
    if (name == "not") {
      if (arguments.size() != 1) return wrong("{{not}} needs one argument");
      return Value{truth(arguments[0].text.empty()), false};
    }
    if (name == "and" || name == "or") {
      if (arguments.empty()) return wrong("{{" + name + "}} needs at least one argument");
      // As in Go: the first argument that decides, otherwise the last.
      for (const Value& each : arguments)
        if (each.text.empty() == (name == "and")) return each;
      return arguments.back();
    }
    return not_understood(std::string(trimmed_right(all)));
  }

  // default "text" .name, or the other way round; the literal is the default.
  static Result<Value> use_default(const std::vector<Value>& arguments) {
    if (arguments.size() != 2 || (arguments[0].literal && arguments[1].literal))
      return wrong("{{default}} needs \"text\" .name");
    const bool turned = !arguments[0].literal && arguments[1].literal;
    const Value& given = arguments[turned ? 0 : 1];
    return Value{given.text.empty() ? arguments[turned ? 1 : 0].text : given.text, false};
  }

  std::string_view rest_;
  const std::map<std::string, std::string>& values_;
  std::vector<std::string>* const names_;
  int depth_ = 0;
};

// One pass over the text with a stack of open {{if}}s.
class Renderer {
 public:
  Renderer(std::string_view body, const std::map<std::string, std::string>& values, std::string_view name,
           int first_line, std::vector<std::string>* names)
      : body_(body), values_(values), name_(name), first_line_(first_line), names_(names) {}

  Result<std::string> render() {
    std::size_t at = 0;
    bool trims_left = false;  // of the next text, set by the last action
    while (at < body_.size()) {
      const std::size_t open = body_.find("{{", at);
      std::string_view text = body_.substr(at, open - at);
      if (trims_left) text = trimmed_left(text);
      if (open == std::string_view::npos) {
        emit(text);
        break;
      }
      const std::size_t close = closing(open + 2);
      if (close == std::string_view::npos) return error(open, "{{ has no }}");
      std::string_view inside = body_.substr(open + 2, close - open - 2);
      if (inside.starts_with('-')) {
        text = trimmed_right(text);
        inside.remove_prefix(1);
      }
      trims_left = inside.ends_with('-');
      if (trims_left) inside.remove_suffix(1);
      emit(text);
      if (auto done = action(trimmed_left(trimmed_right(inside))); !done) return error(open, done.error().message);
      if (!branches_.empty() && branches_.back().at == 0) branches_.back().at = open + 1;
      at = close + 2;
    }
    if (!branches_.empty()) return error(branches_.back().at - 1, "{{if}} has no {{end}}");
    return std::move(out_);
  }

 private:
  struct Branch {
    bool active = false;  // the current part is written
    bool outer = false;   // the enclosing part is written
    bool done = false;    // a part of it was or is written
    bool has_else = false;
    std::size_t at = 0;  // its place, plus 1
  };

  // The }} of the action that begins at `from`; one in a string or a comment does not count.
  std::size_t closing(std::size_t from) const {
    std::size_t at = from;
    if (at < body_.size() && body_[at] == '-') ++at;
    while (at < body_.size() && is_blank_char(body_[at])) ++at;
    if (body_.substr(at, 2) == "/*") {
      const std::size_t end = body_.find("*/", at + 2);
      return end == std::string_view::npos ? end : body_.find("}}", end);
    }
    char quote = '\0';
    for (at = from; at < body_.size(); ++at) {
      if (quote == '"' && body_[at] == '\\') {
        ++at;
      } else if (quote != '\0') {
        if (body_[at] == quote) quote = '\0';
      } else if (body_[at] == '"' || body_[at] == '`') {
        quote = body_[at];
      } else if (body_.substr(at, 2) == "}}") {
        return at;
      }
    }
    // An unclosed quote is reported at its own place.
    return quote == '\0' ? std::string_view::npos : body_.find("}}", from);
  }

  bool writing() const { return branches_.empty() || branches_.back().active; }
  void emit(std::string_view text) {
    if (writing()) out_ += text;
  }

  static Error wrong(const std::string& what) { return {Code::kInvalid, what}; }

  Error error(std::size_t at, const std::string& what) const {
    const std::string_view before = body_.substr(0, at);
    const auto line = first_line_ + std::count(before.begin(), before.end(), '\n');
    const std::size_t start = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
    return {Code::kInvalid,
            std::string(name_) + ":" + std::to_string(line) + ":" + std::to_string(at - start + 1) + ": " + what};
  }

  Result<std::string> value_of(std::string_view text) const { return Expression(text, values_, names_).whole(); }

  static bool is_call(std::string_view text, std::string_view word) {
    return text == word || (text.starts_with(word) && (is_blank_char(text[word.size()]) || text[word.size()] == '('));
  }

  Result<void> action(std::string_view text) {
    if (text.starts_with("/*") && text.ends_with("*/")) return {};
    if (is_call(text, "if")) return begin_if(trimmed_left(text.substr(2)));
    if (text == "else") return turn_else({});
    if (is_call(text, "else")) {
      const std::string_view rest = trimmed_left(text.substr(4));
      if (is_call(rest, "if") && rest.size() > 2) return turn_else(trimmed_left(rest.substr(2)));
    }
    if (text == "end") return end_if();
    AGENTD_TRY(const std::string value, value_of(text));
    emit(value);
    return {};
  }

  Result<void> begin_if(std::string_view condition) {
    if (condition.empty()) return wrong("{{if}} needs a .name");
    AGENTD_TRY(const std::string value, value_of(condition));
    const bool outer = writing();
    branches_.push_back({outer && !value.empty(), outer, !value.empty(), false, 0});
    return {};
  }

  // {{else}}, or {{else if CONDITION}}.
  Result<void> turn_else(std::string_view condition) {
    if (branches_.empty() || branches_.back().has_else) return wrong("{{else}} without {{if}}");
    std::string value = "true";
    if (!condition.empty()) {
      AGENTD_TRY(value, value_of(condition));
    }
    Branch& branch = branches_.back();
    branch.has_else = condition.empty();
    branch.active = branch.outer && !branch.done && !value.empty();
    branch.done = branch.done || !value.empty();
    return {};
  }

  Result<void> end_if() {
    if (branches_.empty()) return wrong("{{end}} without {{if}}");
    branches_.pop_back();
    return {};
  }

  const std::string_view body_;
  const std::map<std::string, std::string>& values_;
  const std::string_view name_;
  const int first_line_;
  std::vector<std::string>* const names_;
  std::vector<Branch> branches_;
  std::string out_;
};

}  // namespace

Result<std::string> render_template(std::string_view body, const std::map<std::string, std::string>& values,
                                    std::string_view name, int first_line) {
  return Renderer(body, values, name, first_line, nullptr).render();
}

Result<std::vector<std::string>> template_names(std::string_view body, std::string_view name, int first_line) {
  std::vector<std::string> names;
  AGENTD_TRY_VOID(Renderer(body, {}, name, first_line, &names).render());
  return names;
}

}  // namespace agentd
