// SPDX-License-Identifier: Apache-2.0
#include "core/tools/command_pattern.h"

#include <algorithm>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/shell_word.h"

namespace agentd {
namespace {

constexpr std::size_t kShownCommandBytes = 120, kCommandPatternMax = 4096, kOptionsMax = 16;
constexpr char kAny = '\x02', kOne = '\x03', kBlank = '\x1f';  // any text, one character, the end of a word
constexpr char kGapBlank = '\x1e';  // the end of a word in front of an unknown part, where both may be nothing
constexpr std::string_view kSigns = "\x02\x03\x1e\x1f";
constexpr std::string_view kOperators = ";|&<>()`$\n";

// The words with their ends. A control character of a word counts as unknown, as the reading is not sure then.
std::string joined(const std::vector<ShellWord>& words, std::size_t begin, std::string_view program) {
  const auto plain = [](char c) { return kSigns.find(c) != std::string_view::npos ? kUnknownPart : c; };
  std::string out;
  for (const char c : program) out += plain(c);
  for (std::size_t i = begin; i < words.size(); ++i) {
    const bool may_vanish = words[i].splits && words[i].text.size() == 1 && words[i].text[0] == kUnknownPart;
    out += may_vanish ? kGapBlank : kBlank;
    for (const char c : words[i].text) out += plain(c);
  }
  return out;
}

// Whether the tokens match the text. An unknown part of the text: `lenient` = may become any text, otherwise it fits
// kAny only.
bool matches(std::string_view tokens, std::string_view text, bool lenient) {
  std::vector<char> now(text.size() + 1, 0), next(text.size() + 1, 0);
  const auto skip_unknown = [&](std::vector<char>& row) {  // an unknown part may be empty
    for (std::size_t i = 0; lenient && i < text.size(); ++i) {
      if (row[i] != 0 && text[i] == kUnknownPart) row[i + 1] = 1;
      if (row[i] != 0 && text[i] == kGapBlank) row[i + 2] = 1;
    }
  };
  now[0] = 1;
  skip_unknown(now);
  for (const char token : tokens) {
    std::fill(next.begin(), next.end(), 0);
    bool alive = false;
    for (std::size_t i = 0; i <= text.size(); ++i) {
      if (token == kAny && i > 0 && next[i - 1] != 0) next[i] = 1;
      if (now[i] == 0) {
        alive = alive || next[i] != 0;
        continue;
      }
      if (token == kAny) next[i] = 1;
      if (i < text.size()) {
        if (lenient && text[i] == kUnknownPart) next[i] = 1;  // which continues
        if (token == text[i] && token != kUnknownPart) next[i + 1] = 1;
        const bool blank = text[i] == kBlank || text[i] == kGapBlank;
        if (token == kBlank && blank) next[i + 1] = 1;
        if (token == kOne && !blank && text[i] != kUnknownPart) next[i + 1] = 1;
      }
      alive = alive || next[i] != 0 || (i < text.size() && next[i + 1] != 0);
    }
    if (!alive) return false;
    skip_unknown(next);
    std::swap(now, next);
  }
  return now[text.size()] != 0;
}

std::vector<std::string_view> words_of(std::string_view tokens) {
  std::vector<std::string_view> out;
  for (;;) {
    const std::size_t end = tokens.find(kBlank);
    out.push_back(tokens.substr(0, end));
    if (end == std::string_view::npos) return out;
    tokens.remove_prefix(end + 1);
  }
}

Error wrong(std::string_view text, const std::string& why) {
  return Error{Code::kInvalid, "'" + one_line(text, kShownCommandBytes) + "' " + why};
}

}  // namespace

Result<CommandPattern> CommandPattern::parse(std::string_view text) {
  CommandPattern out;
  if (is_blank(text)) return wrong(text, "has no command: write the tool's name alone for every call");
  if (text.size() > kCommandPatternMax) return wrong(text, "is too long for a rule");
  std::string_view rest = without_blanks(text);
  if (rest.ends_with(":*") || rest.ends_with(" *")) {
    out.further_ = true;
    rest = without_blanks(rest.substr(0, rest.size() - 2));
  }
  const std::string_view first = rest.substr(0, rest.find_first_of(" \t"));
  if (is_grammar(first))
    return wrong(text, "begins with '" + std::string(first) +
                           "', which is the shell's grammar and not a program, and can match nothing: write a rule for "
                           "each command that follows it");
  bool wild = false, in_word = false;
  for (std::size_t i = 0; i < rest.size(); ++i) {
    const char c = rest[i];
    if (c == ' ' || c == '\t') {
      if (in_word) out.tokens_ += kBlank;
      in_word = false;
      continue;
    }
    in_word = true;
    if (c == '\'' || c == '"') {
      const std::size_t end = rest.find(c, i + 1);
      if (end == std::string_view::npos) return wrong(text, "has a quotation mark that is not closed");
      out.tokens_ += rest.substr(i + 1, end - i - 1);
      i = end;
    } else if (c == '\\' && i + 1 < rest.size()) {
      out.tokens_ += rest[++i];
    } else if (kOperators.find(c) != std::string_view::npos) {
      return wrong(text,
                   "is more than one simple command, and a rule is compared with one at a time: write a rule for each "
                   "command, or put the character in quotation marks");
    } else if (c == '*' || c == '?') {
      wild = true;
      out.tokens_ += c == '*' ? kAny : kOne;
    } else {
      out.tokens_ += c;
    }
  }
  if (out.tokens_.empty() && !out.further_) return wrong(text, "names the empty command, which no shell can start");
  if (out.tokens_.empty()) out.tokens_ = kAny;
  const std::size_t equals = out.tokens_.find('=');
  if (equals != std::string::npos && equals < std::min(out.tokens_.find(kBlank), out.tokens_.size()) &&
      out.tokens_.find('/') > equals)
    return wrong(text, "begins with an assignment, which is not a part of a command here: begin with the program");
  out.exact_ = !wild && !out.further_;
  return out;
}

bool CommandPattern::covers(const ShellCommand& command) const {
  if (command.words.empty() || !command.words.front().known()) return false;
  if (exact_ && (command.fed || !command.assigned.empty())) return false;
  const std::string text = joined(command.words, 1, command.words.front().text);
  return matches(tokens_, text, false) || (further_ && matches(tokens_ + kBlank + kAny, text, false));
}

// The words of the pattern with options between them: `git remote -v add`. A word behind an option may be its value.
CommandPattern::Fit CommandPattern::touches_between(const ShellCommand& command) const {
  const std::vector<std::string_view> pattern = words_of(tokens_);
  const std::string& program = command.words.front().text;
  if (pattern.size() < 2 ||
      !(matches(pattern[0], program, false) || matches(pattern[0], program.substr(program.rfind('/') + 1), false)))
    return Fit::kNo;
  // How certain it is that so many words of the pattern have been found, up to the word that is looked at.
  std::vector<Fit> found(pattern.size() + 1, Fit::kNo);
  found[1] = Fit::kYes;
  for (std::size_t i = 1; i < command.words.size() && i < kOptionsMax + pattern.size(); ++i) {
    const std::string& word = command.words[i].text;
    const bool option = word.starts_with('-') || (i == 1 && word.starts_with('+')),
               value = command.words[i - 1].text.starts_with('-');
    std::vector<Fit> next(found.size(), Fit::kNo);
    for (std::size_t k = 1; k < found.size(); ++k) {
      if (found[k] == Fit::kNo) continue;
      if (k == pattern.size()) {
        if (further_) return found[k];
        continue;
      }
      if (option) next[k] = std::max(next[k], found[k]);
      if (value && !option) next[k] = std::max(next[k], Fit::kMaybe);
      if (matches(pattern[k], word, false)) next[k + 1] = std::max(next[k + 1], found[k]);
    }
    found = std::move(next);
  }
  return found.back();
}

CommandPattern::Fit CommandPattern::touches(const ShellCommand& command) const {
  if (command.words.empty()) return Fit::kNo;
  return std::max(touches_in_front(command), touches_between(command));
}

CommandPattern::Fit CommandPattern::touches_in_front(const ShellCommand& command) const {
  const std::string& program = command.words.front().text;
  const std::string base = program.substr(program.rfind('/') + 1);
  Fit out = Fit::kNo;
  const auto look = [&](std::size_t begin, std::string_view name) {
    const std::string text = joined(command.words, begin, name);
    for (const bool lenient : {false, true})
      if (matches(tokens_, text, lenient) || (further_ && matches(tokens_ + kBlank + kAny, text, lenient))) {
        out = lenient && out == Fit::kNo ? Fit::kMaybe : lenient ? out : Fit::kYes;
        return;
      }
  };
  bool certain = true;  // that what precedes the words are options
  for (std::size_t begin = 1;; ++begin) {
    look(begin, program);
    if (base != program) look(begin, base);
    if (!certain && out == Fit::kYes) return Fit::kMaybe;
    if (out == Fit::kYes || begin >= command.words.size()) return out;
    // An option, or the value of the one before it.
    const std::string& text = command.words[begin].text;
    const bool option = text.starts_with('-') || (begin == 1 && text.starts_with('+'));  // +toolchain
    const bool value = begin > 1 && command.words[begin - 1].text.starts_with('-');
    if (!option && !value && !text.starts_with(kUnknownPart)) return out;
    if (begin >= kOptionsMax) return Fit::kMaybe;
    certain = certain && (option || value);
  }
}

std::string exact_pattern(const ShellCommand& command) {
  std::string out;
  for (const ShellWord& word : command.words) {
    if (!word.known()) return {};
    const bool quoted = out.empty() && is_grammar(word.text);
    if (!out.empty()) out += ' ';
    out += quoted ? "'" + word.text + "'" : shell_word(word.text);
  }
  return command.assigned.empty() ? out : std::string();
}

}  // namespace agentd
