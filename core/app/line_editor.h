// SPDX-License-Identifier: Apache-2.0
#pragma once
// line_editor.h - the line that chat reads: arrow keys, history, UTF-8, pastes as one message. The
// only user of libedit, which is loaded when a chat begins on a terminal.
//
// Bytes of the terminal pass through here before libedit sees them as keys, since libedit knows no bracketed
// paste. A paste of several lines, a long one, and lines that arrive together (typed while no program read, or
// pasted in a terminal that does not mark pastes) become a placeholder in the line, "[pasted text 1, 500 lines]",
// which is replaced by its text when the line is sent. The placeholder is one unit: the cursor skips over it, and
// deleting a part deletes all of it. Keys without a function insert nothing (key_sequences.h).
//
// Threading: one thread. Waiting ends when SignalScope catches a signal.

#include <functional>
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
  // Null if the descriptor is not a terminal, TERM is dumb or empty, or libedit is not installed.
  static std::unique_ptr<LineEditor> open(Options options);
  virtual ~LineEditor() = default;

  // A message without its last line break; nullopt at the end of input (Ctrl-D in an empty line) or
  // when a signal was caught. `style`: SGR parameters of the prompt, which ends with a blank; empty =
  // none. The terminal is in its own mode again when it returns.
  virtual std::optional<std::string> read(std::string_view prompt, std::string_view style) = 0;
  // Puts those of the lines that were read into the history file, once each. The others stay in this process's own
  // history, for the arrow keys, and after drop_lines() are not asked about again.
  virtual void keep(const std::function<bool(std::string_view line)>& may) = 0;
  virtual void drop_lines() = 0;
  // Put into the next line, for the user to send or to delete.
  virtual void prefill(std::string_view text) = 0;
};

// The pasted texts of a line and their placeholders.
class Pastes {
 public:
  // The text itself if it is short and has one line, otherwise its placeholder.
  std::string add(std::string text);
  // The line with placeholders replaced by their texts; forgets them.
  std::string expand(std::string line);
  bool empty() const { return texts_.empty(); }
  std::vector<std::string> words() const;
  void forget(const std::string& word) { texts_.erase(word); }

 private:
  std::map<std::string, std::string> texts_;
  int number_ = 0;
};

// The user's lines, oldest first, in a file of mode 0600, at most 1,000. Lines that begin with a blank or seem to
// contain a secret are not kept.
class LineHistory {
 public:
  explicit LineHistory(std::string file) : file_(std::move(file)) {}
  std::string load() const;
  bool may_keep(std::string_view line) const;
  // REQUIRES: may_keep().
  void add(std::string_view line) const;

 private:
  std::string file_;
};

}  // namespace agentd::app
