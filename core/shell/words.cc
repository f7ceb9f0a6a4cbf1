// SPDX-License-Identifier: Apache-2.0
// words.cc - the parser's words: quotation and expansions.
#include <algorithm>

#include "core/shell/parser.h"

namespace agentd::shell {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

bool is_any_of(char c, std::string_view set) { return set.find(c) != std::string_view::npos; }

constexpr std::string_view kSpecialParameters = "@*#?$!-";

}  // namespace

void Parser::unknown(Word& out, bool splits) {
  out.any = true;
  if (out.out.text.empty() || out.out.text.back() != kUnknownPart) out.out.text += kUnknownPart;
  out.out.splits = out.out.splits || splits;
  out.out.many = out.out.many || splits;
}

bool Parser::ends_word() const {
  const char c = peek();
  if ((c == '<' || c == '>') && peek(1) == '(') return false;
  return at_end() || is_any_of(c, " \t\n;&|()<>");
}

Parser::Word Parser::word() {
  Word out;
  const std::size_t begin = at_;
  while (!ends_word()) unquoted(out);
  const std::string_view raw = text_.substr(begin, std::max(at_, begin) - begin);
  // The command stays as it is.
  if (raw == "[")
    out.out.text = raw;
  else if (out.braces != std::string::npos)
    out.out.text.resize(out.braces + 1);
  return out;
}

// One step of a word.
void Parser::unquoted(Word& out) {
  const char c = peek();
  const bool first = !out.any;
  std::size_t begin = 0;
  switch (c) {
    case '\'': {
      const std::size_t end = text_.find('\'', at_ + 1);
      if (end == std::string_view::npos) return stop("a quotation mark is not closed");
      const std::string_view inside = text_.substr(at_ + 1, end - at_ - 1);
      if (!documents_.empty() && inside.find('\n') != std::string_view::npos)
        return stop("a here-document begins in a line with quoted text of several lines");
      out.out.text += inside;
      out.any = out.quoted = true;
      at_ = end + 1;
      return;
    }
    case '"':
      ++at_;
      return quoted(out);
    case '\\':
      if (at_ + 1 >= text_.size()) return stop("it ends in a backslash");
      if (peek(1) == '\n') {
        doubt("a line ends in the middle of a word");
      } else {
        out.out.text += peek(1);
        out.any = out.quoted = true;
      }
      at_ += 2;
      return;
    case '$':
      return dollar(out, false);
    case '`':
      return backquoted(out, false);
    case '<':
    case '>':  // process substitution
      at_ += 2;
      if (!documents_.empty()) doubt("a here-document begins in a line with a substitution");
      begin = reading_.size();
      nested_list();
      if (c == '>') reading_.feed(begin);
      return unknown(out, false);
    case '*':
    case '?':
    case '[':
    case '{':
      ++at_;
      if (c == '{' && peek() == '}') {  // of find and xargs
        ++at_;
        if (ends_word()) {
          out.out.text += "{}";
          out.any = true;
          return;
        }
      }
      if (c == '[' && is_name(out.out.text)) doubt("a word may be an element of an array");
      unknown(out, c == '{' && first);
      out.out.many = true;
      // {a,b} may become several words, all with what precedes it.
      if (c == '{' && out.braces == std::string::npos) out.braces = out.out.text.size() - 1;
      return;
    case '~':
      ++at_;
      if (!first) break;
      while (!ends_word() && (is_letter(peek()) || is_digit(peek()) || is_any_of(peek(), "+-."))) ++at_;
      return unknown(out, false);
    case '=':
      ++at_;
      if (out.equals == std::string::npos && !out.quoted) {
        const std::string_view name = out.out.text;
        const bool adds = name.ends_with('+');
        const std::size_t size = name.size() - (adds ? 1 : 0);
        if (is_name(name.substr(0, size))) out.equals = size;
      }
      break;
    default:
      ++at_;
  }
  out.out.text += c;
  out.any = true;
}

// After the opening mark.
void Parser::quoted(Word& out) {
  out.any = out.quoted = true;
  for (;;) {
    if (at_end()) return stop("a quotation mark is not closed");
    const char c = peek();
    if (c == '"') {
      ++at_;
      return;
    }
    if (c == '\n' && !documents_.empty())
      return stop("a here-document begins in a line with quoted text of several lines");
    if (c == '$') {
      dollar(out, true);
    } else if (c == '`') {
      backquoted(out, true);
    } else if (c == '\\' && is_any_of(peek(1), "$`\"\\\n") && at_ + 1 < text_.size()) {
      if (peek(1) != '\n') out.out.text += peek(1);
      at_ += 2;
    } else {
      out.out.text += c;
      ++at_;
    }
  }
}

void Parser::dollar(Word& out, bool in_quotes) {
  if (depth_ > kDepthMax) return stop("it is nested too deeply");
  ++depth_;
  expansion(out, in_quotes);
  --depth_;
}

void Parser::expansion(Word& out, bool in_quotes) {
  ++at_;
  const char c = peek();
  if (at_end()) {
    out.out.text += '$';
    out.any = true;
  } else if (c == '\\' && peek(1) == '\n') {
    stop("a line ends in the middle of an expansion");
  } else if (c == '(') {
    if (peek(1) == '(') return arithmetic(out);
    substitution(out, in_quotes);
  } else if (c == '{') {
    parameter(out, in_quotes);
  } else if (c == '[') {
    stop("'$[' is not understood");
  } else if (c == '\'' && !in_quotes) {
    // bash reads escapes in it, dash does not.
    const std::size_t end = text_.find('\'', at_ + 1);
    if (end == std::string_view::npos) return stop("a quotation mark is not closed");
    if (text_.substr(at_, end - at_).find('\\') != std::string_view::npos)
      return stop("shells read $'...' with a backslash differently");
    at_ = end + 1;
    out.quoted = true;
    unknown(out, false);
  } else if (c == '"' && !in_quotes) {
    unknown(out, false);
  } else if (is_letter(c)) {
    while (is_letter(peek()) || is_digit(peek())) ++at_;
    unknown(out, !in_quotes);
  } else if (is_digit(c) || is_any_of(c, kSpecialParameters)) {
    ++at_;
    unknown(out, !in_quotes || c == '@');
  } else {
    out.out.text += '$';
    out.any = true;
  }
}

void Parser::substitution(Word& out, bool in_quotes) {
  ++at_;
  if (!documents_.empty()) doubt("a here-document begins in a line with a substitution");
  const std::vector<Document> outer = std::move(documents_);
  documents_.clear();
  nested_list();
  if (!documents_.empty()) return stop("a here-document is not closed within its substitution");
  documents_ = outer;
  unknown(out, !in_quotes);
}

// At the first of "((". A name in it may hold a text that bash evaluates, with substitutions.
void Parser::arithmetic(Word& out) {
  at_ += 2;
  Word inside;
  for (int open = 0;;) {
    const char c = peek();
    if (at_end()) return stop("an arithmetic expansion is not closed");
    if (c == ')' && open == 0) {
      if (peek(1) != ')') return stop("'$((' may be arithmetic or a command");
      at_ += 2;
      return unknown(out, false);
    }
    if (c == '$') {
      doubt("an arithmetic expansion depends on a value");
      dollar(inside, true);
      continue;
    }
    if (c == '`') {
      doubt("an arithmetic expansion depends on a value");
      backquoted(inside, true);
      continue;
    }
    if (is_letter(c))
      doubt("an arithmetic expansion depends on a variable");
    else if (!is_digit(c) && !is_any_of(c, " \t+-*/%()<>=!&|^~?:,"))
      return stop("an arithmetic expansion is not understood");
    open += c == '(' ? 1 : c == ')' ? -1 : 0;
    ++at_;
  }
}

// At the "{" of "${".
void Parser::parameter(Word& out, bool in_quotes) {
  ++at_;
  bool length = false;
  if (peek() == '#' && peek(1) != '}') {
    length = true;
    ++at_;
  }
  const std::size_t begin = at_;
  if (is_letter(peek()))
    while (is_letter(peek()) || is_digit(peek())) ++at_;
  else if (is_digit(peek()))
    while (is_digit(peek())) ++at_;
  else if (is_any_of(peek(), "@*#?$-") && !at_end())
    ++at_;
  else
    return stop("an expansion in braces is not understood");
  const std::string name(text_.substr(begin, at_ - begin));
  if (take("}")) return unknown(out, !in_quotes || name == "@");
  if (length) return stop("an expansion in braces is not understood");
  (void)take(":");
  const char operation = peek();
  if (!is_any_of(operation, "-=?+#%/^,") || at_end() || (is_any_of(operation, "#%/^,") && text_[at_ - 1] == ':'))
    return stop("an expansion in braces is not understood");
  if (operation == '=') reading_.sets(name, false);
  ++at_;
  parameter_word(in_quotes);
  unknown(out, !in_quotes || name == "@");
}

// Up to the "}".
void Parser::parameter_word(bool in_quotes) {
  Word inside;
  for (;;) {
    const char c = peek();
    if (at_end()) return stop("an expansion in braces is not closed");
    if (c == '}') {
      ++at_;
      return;
    }
    if (c == '\n' && !documents_.empty()) return stop("a here-document begins in a line with an expansion");
    if ((c == '\'' || c == '"') && in_quotes) return stop("shells read quotation marks in an expansion differently");
    if ((c == '<' || c == '>') && peek(1) == '(') return stop("a substitution is in an expansion");
    if (c == '{') return stop("shells read braces in an expansion differently");
    if (c == '\\') {
      at_ = std::min(at_ + 2, text_.size());
    } else if (c == '$') {
      dollar(inside, in_quotes);
    } else if (c == '`') {
      backquoted(inside, in_quotes);
    } else if (c == '"') {
      ++at_;
      quoted(inside);
    } else if (c == '\'') {
      const std::size_t end = text_.find('\'', at_ + 1);
      if (end == std::string_view::npos) return stop("a quotation mark is not closed");
      at_ = end + 1;
    } else {
      ++at_;
    }
  }
}

void Parser::backquoted(Word& out, bool in_quotes) {
  std::string inside;
  if (!documents_.empty()) doubt("a here-document begins in a line with a substitution");
  for (++at_;; ++at_) {
    if (at_end()) return stop("a backquote is not closed");
    if (peek() == '`') break;
    if (peek() == '\\') {
      doubt("there is a backslash in backquotes");
      if (at_ + 1 < text_.size() && is_any_of(peek(1), in_quotes ? "$`\\\"" : "$`\\")) ++at_;
    }
    inside += peek();
  }
  ++at_;
  read_text(inside, reading_, depth_ + 1);
  unknown(out, !in_quotes);
}

}  // namespace agentd::shell
