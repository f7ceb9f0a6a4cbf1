// SPDX-License-Identifier: Apache-2.0
#pragma once
// parser.h - the grammar of the shell, by recursive descent over the characters of a text. Private to this room.
//
// A text that it cannot follow ends the reading there with a doubt. Words are in words.cc.
//
// Threading: one thread.

#include <string>
#include <string_view>
#include <vector>

#include "core/shell/reading.h"

namespace agentd::shell {

inline bool is_digit(char c) { return c >= '0' && c <= '9'; }

class Parser {
 public:
  // `text` outlives it.
  Parser(std::string_view text, Reading& reading, int depth) : text_(text), reading_(reading), depth_(depth) {}

  void read_all();
  // The body of a here-document whose delimiter is not quoted.
  void read_body();

 private:
  // A word as it is being read.
  struct Word {
    ShellWord out;
    bool any = false;                        // there is a word, perhaps an empty one
    bool quoted = false;                     // a part of it
    std::size_t equals = std::string::npos;  // of NAME=, in out.text
    std::size_t braces = std::string::npos;  // of the first list in braces, in out.text
  };
  struct Document {
    std::string delimiter;
    bool quoted = false, strips_tabs = false;
  };

  // ---- characters
  bool at_end() const { return at_ >= text_.size(); }
  char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  bool sees(std::string_view what) const { return text_.substr(at_, what.size()) == what; }
  bool take(std::string_view what);
  void doubt(std::string_view why) { reading_.doubt(why); }
  // Ends the reading here.
  void stop(std::string_view why);

  // ---- grammar
  void skip_blanks();
  void skip_lines();
  void newline();
  std::string_view peek_reserved() const;
  bool take_reserved(std::string_view word);
  void expect_reserved(std::string_view word);
  void list();
  void pipeline();
  void command();
  void simple();
  bool compound(std::string_view word);
  void condition();
  void loop();
  void for_loop();
  void cases();
  void ends_compound(std::size_t begin);
  bool redirection(ShellCommand& out);
  void document_operator();
  void read_documents();

  // ---- words
  bool ends_word() const;
  Word word();
  void unquoted(Word& out);
  void quoted(Word& out);
  void dollar(Word& out, bool in_quotes);
  void expansion(Word& out, bool in_quotes);
  void substitution(Word& out, bool in_quotes);
  void arithmetic(Word& out);
  void parameter(Word& out, bool in_quotes);
  void parameter_word(bool in_quotes);
  void backquoted(Word& out, bool in_quotes);
  void nested_list();
  static void unknown(Word& out, bool splits);

  const std::string_view text_;
  Reading& reading_;
  int depth_;
  std::size_t at_ = 0;
  std::vector<Document> documents_;  // whose bodies begin at the next line
};

}  // namespace agentd::shell
