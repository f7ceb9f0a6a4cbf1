// SPDX-License-Identifier: Apache-2.0
#pragma once
// line_editor.h - the line that chat reads: arrow keys, history, UTF-8, pastes as one message. The
// only user of libedit, which is loaded when a chat begins on a terminal.
//
// Bytes of the terminal pass through here before libedit sees them as keys, since libedit knows no
// bracketed paste. A paste of several lines, a long one, and lines that come all at once (typed
// while nobody read, or pasted in a terminal that does not mark pastes) become one word in the
// line, "[pasted text 1, 500 lines]", and its text when the line is sent. Such a word is one piece:
// the cursor goes over it, and a key that deletes some of it deletes all of it. Keys that mean
// nothing leave nothing in the line (key_sequences.h).
//
// Threading: one thread. Waiting ends when SignalScope catches a signal.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace agentd::app {

class LineEditor {
 public:
  struct Options {
    int terminal = 0;
    std::string term;          // TERM
    std::string history_file;  // empty = none is kept
  };
  // Null where the descriptor is no terminal, TERM is dumb or empty, or libedit is not installed.
  static std::unique_ptr<LineEditor> open(Options options);
  virtual ~LineEditor() = default;

  // A message without its last line break; nullopt at the end of input (Ctrl-D in an empty line) or
  // when a signal was caught. `style`: SGR parameters of the prompt; empty = none. The terminal is
  // in its own mode again when it returns.
  virtual std::optional<std::string> read(std::string_view prompt, std::string_view style) = 0;
  // Stands in the next line, for the person to send or to delete.
  virtual void prefill(std::string_view text) = 0;
};

// What was pasted into a line: words that stand for texts.
class Pastes {
 public:
  // The text itself when it is short and has one line, otherwise the word that stands for it.
  std::string add(std::string text);
  // The line with the texts in place of their words; forgets them.
  std::string expand(std::string line);
  bool empty() const { return texts_.empty(); }
  std::vector<std::string> words() const;
  void forget(const std::string& word) { texts_.erase(word); }

 private:
  std::map<std::string, std::string> texts_;
  int number_ = 0;
};

// The lines of people, oldest first: one a line in a file of mode 0600, at most 1,000. Not kept:
// what begins with a blank, and what has something that looks like a secret.
class LineHistory {
 public:
  explicit LineHistory(std::string file) : file_(std::move(file)) {}
  std::string load() const;
  // False when it is not kept.
  bool add(std::string_view line) const;

 private:
  std::string file_;
};

}  // namespace agentd::app
