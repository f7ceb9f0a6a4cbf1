// SPDX-License-Identifier: Apache-2.0
#include "core/shell/parser.h"

#include <algorithm>

namespace agentd::shell {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t'; }

bool is_operator(char c) { return std::string_view(";&|()<>").find(c) != std::string_view::npos; }

constexpr std::string_view kHosts[] = {"/dev/tcp/", "/dev/udp/"};

// "1", "1-" or "-", after "<&" or ">&".
bool is_descriptor(std::string_view text) {
  if (text == "-") return true;
  if (text.ends_with('-')) text.remove_suffix(1);
  return !text.empty() && std::all_of(text.begin(), text.end(), is_digit);
}

// /dev/tcp/HOST/PORT, to which bash connects.
bool may_be_host(std::string_view target) {
  const std::string_view known = target.substr(0, target.find(kUnknownPart));
  return std::any_of(std::begin(kHosts), std::end(kHosts), [&](std::string_view host) {
    return known.size() < target.size() && known.size() < host.size() ? host.starts_with(known)
                                                                      : target.starts_with(host);
  });
}

// Where a list ends that is a part of something.
constexpr std::string_view kEnds[] = {"then", "else", "elif", "fi", "do", "done", "esac", "}"};

}  // namespace

bool Parser::take(std::string_view what) {
  if (!sees(what)) return false;
  at_ += what.size();
  return true;
}

void Parser::stop(std::string_view why) {
  doubt(why);
  at_ = text_.size();
  documents_.clear();
}

void Parser::read_all() {
  list();
  if (!at_end()) stop("it has an end of a group without its beginning");
  if (!documents_.empty()) stop("a here-document is not closed");
}

void Parser::read_body() {
  Word ignored;
  while (!at_end()) {
    const char c = peek();
    if (c == '\\') {
      if (peek(1) == '\n') doubt("a line of a here-document continues in the next one");
      at_ = std::min(at_ + 2, text_.size());
    } else if (c == '$') {
      dollar(ignored, true);
    } else if (c == '`') {
      backquoted(ignored, true);
    } else {
      ++at_;
    }
  }
}

// ---- blanks and lines

void Parser::skip_blanks() {
  for (;;) {
    if (is_blank(peek()) && !at_end()) {
      ++at_;
    } else if (sees("\\\n")) {
      // Shells differ in the middle of an operator or word.
      if (at_ > 0 && !is_blank(text_[at_ - 1]) && text_[at_ - 1] != '\n') doubt("a line ends in the middle of a word");
      at_ += 2;
      if (peek() == '#') doubt("a comment begins in a continued line");
    } else {
      break;
    }
  }
  if (peek() == '#') at_ = std::min(text_.find('\n', at_), text_.size());
}

void Parser::newline() {
  ++at_;
  read_documents();
}

void Parser::skip_lines() {
  for (skip_blanks(); peek() == '\n'; skip_blanks()) newline();
}

// ---- reserved words

std::string_view Parser::peek_reserved() const {
  std::size_t end = at_;
  while (end < text_.size() && !is_blank(text_[end]) && text_[end] != '\n' && !is_operator(text_[end])) ++end;
  const std::string_view found = text_.substr(at_, end - at_);
  return is_reserved(found) ? found : std::string_view();
}

bool Parser::take_reserved(std::string_view word) {
  skip_lines();
  if (peek_reserved() != word) return false;
  at_ += word.size();
  return true;
}

void Parser::expect_reserved(std::string_view word) {
  if (!take_reserved(word)) stop("'" + std::string(word) + "' is missing");
}

// ---- lists

void Parser::list() {
  for (;;) {
    skip_lines();
    if (at_end() || peek() == ')' || sees(";;") || sees(";&")) return;
    const std::string_view word = peek_reserved();
    if (std::find(std::begin(kEnds), std::end(kEnds), word) != std::end(kEnds)) return;
    const std::size_t before = at_;
    pipeline();
    skip_blanks();
    if (at_end() || peek() == ')' || sees(";;") || sees(";&")) return;
    if (peek() == '\n') continue;
    if (take("&&") || take("||") || take(";")) continue;
    if (sees("&>")) return stop("shells read '&>' differently");
    if (take("&")) continue;
    if (at_ == before || !is_operator(peek())) {
      // The words after a compound command.
      return stop("it cannot be read at '" + std::string(text_.substr(at_, 20)) + "'");
    }
    return stop("it has an operator that is not understood");
  }
}

void Parser::pipeline() {
  for (skip_blanks(); peek_reserved() == "!"; skip_blanks()) ++at_;
  command();
  for (skip_blanks(); peek() == '|' && peek(1) != '|'; skip_blanks()) {
    at_ += peek(1) == '&' ? 2U : 1U;
    skip_lines();
    const std::size_t begin = reading_.size();
    command();
    reading_.feed(begin);
  }
}

void Parser::command() {
  if (!reading_.begins(0, depth_)) return stop("it is nested too deeply");
  const std::size_t begin = reading_.size();
  if (peek() == '(') {
    if (peek(1) == '(') return stop("shells read '((' differently");
    ++at_;
    nested_list();
    return ends_compound(begin);
  }
  const std::string_view word = peek_reserved();
  if (!word.empty() && compound(word)) return;
  simple();
}

// A list up to a closing parenthesis.
void Parser::nested_list() {
  ++depth_;
  list();
  --depth_;
  if (!take(")")) stop("a parenthesis is not closed");
}

// The redirections of a compound command.
void Parser::ends_compound(std::size_t begin) {
  ShellCommand out;
  for (skip_blanks(); redirection(out); skip_blanks()) {
  }
  if (out.fed) reading_.feed(begin);
  if (!out.redirections.empty()) reading_.add(std::move(out));
}

// False: the word begins a simple command.
bool Parser::compound(std::string_view word) {
  ++depth_;
  const std::size_t begin = reading_.size();
  bool done = true;
  if (word == "{") {
    ++at_;
    list();
    expect_reserved("}");
  } else if (word == "if") {
    at_ += word.size();
    condition();
  } else if (word == "while" || word == "until") {
    at_ += word.size();
    list();
    loop();
  } else if (word == "for") {
    at_ += word.size();
    for_loop();
  } else if (word == "case") {
    at_ += word.size();
    cases();
  } else if (word == "time") {
    done = false;
  } else {
    stop("'" + std::string(word) + "' is not understood here");
  }
  --depth_;
  if (done) ends_compound(begin);
  return done;
}

void Parser::condition() {
  list();
  expect_reserved("then");
  list();
  while (take_reserved("elif")) {
    list();
    expect_reserved("then");
    list();
  }
  if (take_reserved("else")) list();
  expect_reserved("fi");
}

void Parser::loop() {
  expect_reserved("do");
  list();
  expect_reserved("done");
}

void Parser::for_loop() {
  skip_blanks();
  const Word name = word();
  if (name.quoted || !is_name(name.out.text)) return stop("the variable of a 'for' is not a name");
  reading_.sets(name.out.text, false);
  if (take_reserved("in")) {
    for (skip_blanks(); !at_end() && peek() != '\n' && peek() != ';'; skip_blanks())
      if (ends_word())
        return stop("the words of a 'for' cannot be read");
      else
        (void)word();
  }
  skip_blanks();
  (void)take(";");
  loop();
}

void Parser::cases() {
  skip_blanks();
  if (ends_word()) return stop("the word of a 'case' is missing");
  (void)word();
  expect_reserved("in");
  for (;;) {
    skip_lines();
    if (take_reserved("esac")) return;
    (void)take("(");
    for (;;) {
      skip_blanks();
      if (ends_word()) return stop("a pattern of a 'case' cannot be read");
      (void)word();
      skip_blanks();
      if (take(")")) break;
      if (!take("|")) return stop("a pattern of a 'case' cannot be read");
    }
    list();
    if (!take(";;&") && !take(";;") && !take(";&")) {
      expect_reserved("esac");
      return;
    }
  }
}

// ---- simple commands

void Parser::simple() {
  ShellCommand out;
  std::vector<ShellWord> values;  // of the assigned names
  const std::size_t begin = at_, first = reading_.size();
  for (;;) {
    skip_blanks();
    const char c = peek();
    if (at_end() || c == '\n' || c == ';' || c == '|' || c == ')') break;
    if (c == '&') {
      if (peek(1) == '>') return stop("shells read '&>' differently");
      break;
    }
    if (c == '(') return stop("it defines a function or an array, or has a pattern of bash");
    if (redirection(out)) continue;
    if (at_end()) break;
    Word next = word();
    if (next.equals != std::string::npos && out.words.empty()) {
      std::string name = next.out.text.substr(0, next.equals);
      if (peek() == '(') return stop("it sets an array");
      if (next.out.text[next.equals] == '+') doubt("shells read '+=' differently");
      out.assigned.push_back(std::move(name));
      next.out.text.erase(0, next.equals + 1);
      values.push_back(std::move(next.out));
    } else if (next.any) {
      if (peek() == '<' || peek() == '>')
        if (next.out.text.starts_with(kUnknownPart) && text_[at_ - 1] == '}')
          doubt("a descriptor is in a variable, or a word in braces ends at a redirection");
      out.words.push_back(std::move(next.out));
    }
  }
  if (at_ == begin && out.words.empty() && out.redirections.empty() && out.assigned.empty()) {
    if (!at_end() && peek() != '\n') ++at_;  // a lone operator, which no shell accepts
    return doubt("a command is missing");
  }
  for (std::size_t i = 0; i < values.size(); ++i) reading_.sets(out.assigned[i], !out.words.empty(), &values[i]);
  const bool fed = out.fed;
  if (fed && std::any_of(out.words.begin(), out.words.end(), [](const ShellWord& word) { return word.is("exec"); }))
    doubt("it may change what later commands read");
  add_command(std::move(out), reading_, depth_);
  if (fed) reading_.feed(first);  // also what its redirections run, after the one that feeds it
}

// False: there is none here.
bool Parser::redirection(ShellCommand& out) {
  std::size_t digits = 0;
  while (is_digit(peek(digits))) ++digits;
  const char c = peek(digits);
  if (at_ + digits >= text_.size() || (c != '<' && c != '>')) return false;
  if (peek(digits + 1) == '(') {
    if (digits != 0) stop("shells read a number in front of '" + std::string(1, c) + "(' differently");
    return false;
  }
  if (digits > 1) doubt("shells read a number of several digits in front of a redirection differently");
  const bool of_input = c == '<' || (digits == 1 && peek() == '0');
  at_ += digits;
  if (sees("<<<")) {
    out.fed = true;
    at_ += 3;
    skip_blanks();
    if (ends_word()) {
      stop("a here-string is missing");
      return true;
    }
    (void)word();
    return true;
  }
  if (take("<<")) {
    out.fed = true;
    document_operator();
    return true;
  }
  ShellRedirection made;
  made.writes = c == '>' || sees("<>");
  made.reads = c == '<';
  const bool duplicates = sees("<&") || sees(">&");
  for (const std::string_view op : {">>", ">|", ">&", "<>", "<&", ">", "<"})
    if (take(op)) break;
  skip_blanks();
  if (ends_word()) {
    stop("the target of a redirection is missing");
    return true;
  }
  Word target = word();
  const std::string& text = target.out.text;
  const bool descriptor = duplicates && is_descriptor(text);
  if (!descriptor && (made.reads || target.out.known()) && may_be_host(text)) doubt("a redirection may lead to a host");
  out.fed = out.fed || (of_input && text != "/dev/null");
  made.target = std::move(target.out);
  made.writes = made.writes || duplicates;
  if (!descriptor) out.redirections.push_back(std::move(made));
  return true;
}

// After "<<".
void Parser::document_operator() {
  Document made;
  made.strips_tabs = take("-");
  skip_blanks();
  if (ends_word()) return stop("the delimiter of a here-document is missing");
  const std::size_t begin = at_;
  Word delimiter = word();
  const std::string_view raw = text_.substr(begin, at_ - begin);
  if (raw.find_first_of("$`\\\n") != std::string_view::npos || delimiter.out.text.empty() || !delimiter.out.known())
    return stop("the delimiter of a here-document is not plain");
  made.delimiter = delimiter.out.text;
  made.quoted = delimiter.quoted;
  documents_.push_back(std::move(made));
}

// At the beginning of a line.
void Parser::read_documents() {
  const std::vector<Document> documents = std::move(documents_);
  documents_.clear();
  for (const Document& document : documents) {
    std::string body;
    for (bool closed = false; !closed;) {
      if (at_end()) return stop("a here-document is not closed");
      const std::size_t end = std::min(text_.find('\n', at_), text_.size());
      std::string_view line = text_.substr(at_, end - at_);
      at_ = std::min(end + 1, text_.size());
      if (document.strips_tabs) line.remove_prefix(std::min(line.find_first_not_of('\t'), line.size()));
      closed = line == document.delimiter;
      if (!closed) body.append(line).push_back('\n');
    }
    if (document.quoted || !reading_.begins(body.size(), depth_ + 1)) continue;
    const std::size_t begin = reading_.size();
    Parser(body, reading_, depth_ + 1).read_body();
    reading_.feed(begin);  // another redirection may precede it
  }
}

}  // namespace agentd::shell
