// SPDX-License-Identifier: Apache-2.0
#include "plugins/guardrail/command.h"

#include <algorithm>

#include "core/base/shell_word.h"
#include "core/shell/shell.h"
#include "plugins/guardrail/braces.h"

namespace guardrail {
namespace {

constexpr int kDepthMax = 4;
constexpr int kEqualsMax = 4;           // per word
constexpr std::size_t kLettersMax = 4;  // option letters before a path

template <std::size_t N>
bool holds(const std::string_view (&names)[N], std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

// Programs that run the command after their own options.
constexpr std::string_view kWrappers[] = {"sudo",   "doas",    "env",     "nohup",  "time",   "nice",
                                          "ionice", "command", "exec",    "xargs",  "coproc", "setsid",
                                          "stdbuf", "timeout", "builtin", "busybox"};
// Programs that may change every path in their arguments.
constexpr std::string_view kWriters[] = {"tee",   "mv",  "dd",    "chmod",  "chown", "chgrp", "truncate",
                                         "touch", "rm",  "rmdir", "unlink", "shred", "patch", "mkdir",
                                         "vi",    "vim", "nano",  "ed",     "ex",    "emacs", "setfacl"};
// Only their last path is changed.
constexpr std::string_view kCopiers[] = {"cp", "ln", "install", "rsync", "scp"};
// Only what one of their options names is changed.
constexpr std::string_view kNaming[] = {"curl", "wget", "tar", "unzip", "sort", "openssl", "git", "gpg"};
constexpr std::string_view kNamedBy[] = {"-o", "-O", "--output", "--output-document", "-P", "-C", "-d", "-out", "-f"};
// Options of find that precede its starting points.
constexpr std::string_view kFindOptions[] = {"-H", "-L", "-P"};
// Programs that change files with -i.
constexpr std::string_view kEditors[] = {"sed", "perl", "ruby"};

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f'; }

void replace_all(std::string& text, std::string_view what, std::string_view by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
    text.replace(at, what.size(), by);
}

// Replaces everything that the shell takes as a space or as nothing.
std::string evened(std::string_view command) {
  std::string text(command);
  constexpr std::string_view kSpaces[] = {"${IFS}", "$IFS$9", "$IFS",   "\u00a0", "\u2002",
                                          "\u2003", "\u2009", "\u3000", "\t"};
  constexpr std::string_view kNothing[] = {"\\\r\n", "\\\n", "$@", "$*", "\u200b", "\ufeff"};
  for (const std::string_view space : kSpaces) replace_all(text, space, " ");
  for (const std::string_view nothing : kNothing) replace_all(text, nothing, "");
  return text;
}

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : 99;
}

// Decodes \x72, \162 and \n inside $'...'; `at` is after the backslash and moves past the escape.
char escaped(std::string_view text, std::size_t& at) {
  const bool hex = text[at] == 'x';
  if (!hex && (text[at] < '0' || text[at] > '7')) {
    const char c = text[at++];
    return c == 'n' ? '\n' : c == 't' ? '\t' : c;
  }
  if (hex) ++at;
  int value = 0;
  for (int i = 0; i < (hex ? 2 : 3) && at < text.size() && digit_of(text[at]) < (hex ? 16 : 8); ++i)
    value = value * (hex ? 16 : 8) + digit_of(text[at++]);
  return static_cast<char>(value);
}

// Removes quotation marks and backslashes, with one space between words.
std::string unquoted(std::string_view text) {
  std::string plain;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == '$' && at + 1 < text.size() && text[at + 1] == '\'') {
      for (at += 2; at < text.size() && text[at] != '\'';) {
        if (text[at] == '\\' && at + 1 < text.size())
          plain += escaped(text, ++at);
        else
          plain += text[at++];
      }
    } else if (c == ' ' && plain.ends_with(' ')) {
      // one is enough
    } else if (c != '\'' && c != '"' && c != '\\') {
      plain += c;
    }
    ++at;
  }
  return plain;
}

class Reader {
 public:
  Reader(std::string_view text, std::vector<Word>& out, Braces& braces, int depth)
      : text_(braces.expanded(text)), out_(out), braces_(braces), depth_(depth) {}

  void read() {
    while (at_ < text_.size()) step();
    end_command();
  }

 private:
  void step() {
    const char c = text_[at_];
    if (c == '\'' || c == '"') {
      quoted(c, false);
    } else if (c == '$' && at_ + 1 < text_.size() && text_[at_ + 1] == '\'') {
      ++at_;
      quoted('\'', true);
    } else if (c == '\\' && at_ + 1 < text_.size()) {
      word_ += text_[at_ + 1];
      started_ = true;
      at_ += 2;
    } else if (is_blank(c)) {
      end_word();
      ++at_;
    } else if (c == '>' || c == '<') {
      redirection();
    } else if (c == '#' && !started_) {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else if (std::string_view(";&|\n()`").find(c) != std::string_view::npos) {
      if (c == '(' && word_ == "$") word_.clear(), started_ = false;
      end_command();
      ++at_;
    } else {
      word_ += c;
      started_ = true;
      ++at_;
    }
  }

  void quoted(char quote, bool escapes) {
    started_ = true;
    for (++at_; at_ < text_.size() && text_[at_] != quote;) {
      const bool backslash = text_[at_] == '\\' && at_ + 1 < text_.size();
      if (backslash && escapes) {
        word_ += escaped(text_, ++at_);
      } else if (backslash && quote == '"' &&
                 std::string_view("\"\\$`\n").find(text_[at_ + 1]) != std::string_view::npos) {
        word_ += text_[at_ + 1];
        at_ += 2;
      } else {
        word_ += text_[at_++];
      }
    }
    ++at_;
  }

  void redirection() {
    if (word_.find_first_not_of("0123456789") == std::string::npos) word_.clear(), started_ = false;
    end_word();
    written_next_ = text_[at_] == '>' || text_.compare(at_, 2, "<>") == 0;
    while (at_ < text_.size() && std::string_view("<>&|").find(text_[at_]) != std::string_view::npos) ++at_;
  }

  void end_word() {
    if (!started_) return;
    words_.push_back({.text = std::move(word_), .written = written_next_});
    redirected_.push_back(written_next_);
    word_.clear();
    started_ = written_next_ = false;
  }

  void end_command() {
    end_word();
    std::size_t program = 0;
    while (program < words_.size() && is_prefix(program)) ++program;
    // A wrapper's option may have taken a word: sudo -u root tee.
    if (program > 0)
      for (std::size_t i = program; i < words_.size(); ++i)
        if (is_known(base_name(words_[i].text))) {
          program = i;
          break;
        }
    const std::string name = program < words_.size() ? base_name(words_[program].text) : "";
    mark(name, program);
    mark_removed();
    for (std::size_t i = 0; i < words_.size(); ++i) emit(words_[i]);
    if (name == "cd" || name == "pushd") directory_ = program + 1 < words_.size() ? words_[program + 1].text : "~";
    words_.clear();
    redirected_.clear();
  }

  static bool is_known(const std::string& name) {
    return holds(kWriters, name) || holds(kCopiers, name) || holds(kNaming, name) || holds(kEditors, name) ||
           name == "cd" || name == "pushd";
  }

  // True for NAME=value, a wrapper, or an option or number of the wrapper before it.
  bool is_prefix(std::size_t at) const {
    const std::string& text = words_[at].text;
    if (redirected_[at] || holds(kWrappers, base_name(text))) return true;
    const std::size_t equals = text.find('=');
    if (equals != std::string::npos && equals != 0 && text.find('/') > equals) return true;
    const bool wrapped = at > 0 && std::any_of(words_.begin(), words_.begin() + static_cast<std::ptrdiff_t>(at),
                                               [](const Word& w) { return holds(kWrappers, base_name(w.text)); });
    return wrapped && (text.starts_with('-') || (!text.empty() && text[0] >= '0' && text[0] <= '9'));
  }

  void mark(const std::string& name, std::size_t program) {
    const bool in_place =
        holds(kEditors, name) && std::any_of(words_.begin(), words_.end(), [](const Word& w) {
          return w.text.starts_with("-i") || w.text.starts_with("-pi") || w.text.starts_with("--in-place");
        });
    if (holds(kWriters, name) || in_place)
      for (std::size_t i = program + 1; i < words_.size(); ++i) words_[i].written = true;
    if (holds(kNaming, name))
      for (std::size_t i = program + 1; i + 1 < words_.size(); ++i)
        if (holds(kNamedBy, words_[i].text) || ends_in_output(words_[i].text)) words_[i + 1].written = true;
    if (holds(kNaming, name))  // -opath, -Opath, --output=path; the end of the letters is unknown
      for (std::size_t i = program + 1; i < words_.size(); ++i) {
        const std::string& text = words_[i].text;
        const bool glued = text.size() > 2 && text[0] == '-' && (text[1] == 'o' || text[1] == 'O' || text[1] == 'P');
        if (glued || text.starts_with("--output")) words_[i].written = true;
      }
    if (holds(kCopiers, name)) {
      words_.back().written = true;
      for (std::size_t i = program + 1; i + 1 < words_.size(); ++i)
        if (words_[i].text == "-t" || words_[i].text == "--target-directory") words_[i + 1].written = true;
      for (Word& word : words_)
        if (word.text.starts_with("--target-directory=")) word.written = true;
    }
  }

  // The last of several letters names the output: -qO, -sSLo.
  static bool ends_in_output(const std::string& option) {
    return option.size() > 2 && option[0] == '-' && option[1] != '-' && (option.back() == 'o' || option.back() == 'O');
  }

  static std::string base_name(const std::string& text) {
    const std::size_t slash = text.rfind('/');
    return slash == std::string::npos ? text : text.substr(slash + 1);
  }

  // Marks the operands of `rm -r` and `find -delete` anywhere in a command.
  void mark_removed() {
    for (std::size_t i = 0; i < words_.size(); ++i) {
      const std::string name = base_name(words_[i].text);
      if (name == "find") mark_found(i + 1);
      // git keeps what `git rm` removes.
      if (name != "rm" || (i > 0 && base_name(words_[i - 1].text) == "git")) continue;
      const auto begin = words_.begin() + static_cast<std::ptrdiff_t>(i) + 1;
      if (!std::any_of(begin, words_.end(), [](const Word& w) { return is_recursive(w.text); })) continue;
      for (auto word = begin; word != words_.end(); ++word)
        if (!word->text.starts_with('-')) word->removal = Removal::kTree;
    }
  }

  // Marks find's starting points.
  void mark_found(std::size_t begin) {
    const auto removes = [&](std::size_t at) {
      const std::string& text = words_[at].text;
      return text == "-delete" ||
             (text.starts_with("-exec") && at + 1 < words_.size() && base_name(words_[at + 1].text) == "rm");
    };
    bool removed = false;
    for (std::size_t i = begin; i < words_.size(); ++i) removed = removed || removes(i);
    while (begin < words_.size() && holds(kFindOptions, words_[begin].text)) ++begin;
    for (; removed && begin < words_.size() && !words_[begin].text.starts_with('-'); ++begin)
      words_[begin].removal = Removal::kFound;
  }

  static bool is_recursive(const std::string& option) {
    if (option.starts_with("--")) return option.size() > 2 && std::string_view("--recursive").starts_with(option);
    return option.starts_with('-') && option.find_first_of("rR") != std::string::npos;
  }

  void emit(const Word& word) {
    // A quoted command, or one that a substitution runs; or eval 'a{b,c}'.
    const bool inner = word.text.find_first_of(" \t\n;|&`<>({") != std::string::npos;
    if (inner && depth_ < kDepthMax) Reader(word.text, out_, braces_, depth_ + 1).read();
    add(word);
    // --opt=path, if=path, --define=key=path
    std::size_t equals = word.text.find('=');
    for (int i = 0; i < kEqualsMax && equals != std::string::npos; ++i) {
      add({.text = word.text.substr(equals + 1), .written = word.written});
      equals = word.text.find('=', equals + 1);
    }
    // -Cpath, -xzfpath: the end of the letters is unknown.
    if (word.text.starts_with('-') && !word.text.starts_with("--"))
      for (std::size_t i = 2; i < word.text.size() && i < 2 + kLettersMax && is_letter(word.text[i - 1]); ++i)
        add({.text = word.text.substr(i), .written = word.written});
    // curl -d @path, -d@path, -F name=@path
    for (std::size_t at = word.text.find('@'); at != std::string::npos; at = word.text.find('@', at + 1))
      if (at == 0 || word.text[at - 1] == '=' || word.text.starts_with('-')) add({.text = word.text.substr(at + 1)});
  }

  void add(const Word& word) {
    if (word.text.empty()) return;
    out_.push_back(word);
    const bool relative = std::string_view("/~$").find(word.text[0]) == std::string_view::npos;
    if (relative && !directory_.empty()) {
      out_.push_back(word);
      out_.back().text = directory_ + "/" + word.text;
    }
  }

  const std::string text_;
  std::vector<Word>& out_;
  Braces& braces_;
  const int depth_;
  std::size_t at_ = 0;
  std::string word_, directory_;
  bool started_ = false, written_next_ = false;
  std::vector<Word> words_;       // words of the current simple command
  std::vector<bool> redirected_;  // true per word that is a redirection's target
};

// One command of a reading as text, with a variable for what is not known.
std::string text_of(const agentd::ShellCommand& command) {
  std::string out;
  for (const agentd::ShellWord& word : command.words) {
    std::string text;
    for (const char c : word.text) text += c == agentd::kUnknownPart ? std::string("$_") : std::string(1, c);
    out += (out.empty() ? "" : " ") + agentd::shell_word(text);
  }
  return out;
}

}  // namespace

std::vector<std::string> spellings_of(std::string_view command) {
  std::vector<std::string> out{std::string(command)};
  const auto add = [&](std::string spelling) {
    if (std::find(out.begin(), out.end(), spelling) == out.end()) out.push_back(std::move(spelling));
  };
  Braces braces;
  std::string plain = unquoted(braces.expanded(evened(command)));
  // A shell in quotation marks expands the lists in its command.
  std::string inner = braces.expanded(plain);
  add(std::move(plain));
  add(std::move(inner));
  for (const agentd::ShellCommand& each : agentd::split_command(command).commands) add(unquoted(text_of(each)));
  return out;
}

std::vector<Word> words_of(std::string_view command) {
  std::vector<Word> out;
  Braces braces;
  Reader(evened(command), out, braces, 0).read();
  // Words that the shell's grammar finds and the tolerant reading above does not: in here-documents and deep within
  // texts.
  for (const agentd::ShellCommand& each : agentd::split_command(command).commands) {
    Reader(text_of(each), out, braces, 0).read();
    for (const agentd::ShellRedirection& redirection : each.redirections)
      if (redirection.target.known()) out.push_back({.text = redirection.target.text, .written = redirection.writes});
  }
  return out;
}

bool is_simple(std::string_view command) {
  return command.find_first_of(";&|<>$`(){}\\\n\r'\"*?[#!") == std::string_view::npos &&
         agentd::split_command(command).sure;
}

}  // namespace guardrail
