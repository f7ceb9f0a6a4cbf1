// SPDX-License-Identifier: Apache-2.0
#pragma once
// terminal.h - where output goes: descriptors with a buffer, waiting that shows.
//
// Threading: Output is thread-compatible; Progress is thread-safe.

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "core/base/neutral.h"

namespace agentd::app {

// One descriptor. A peer that went away turns it off; other failures are kept for the end.
class Output {
 public:
  // `colour`: whether escape sequences may be written; only ever true for a terminal.
  Output(int fd, bool tty, bool colour) : fd_(fd), tty_(tty), colour_(colour) {}
  ~Output() { flush(); }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  void print(std::string_view text);  // buffered
  // The same for text that only says that what was asked for is done.
  void confirm(std::string_view text);
  void line(std::string_view text);  // ends the line, and flushes on a terminal
  void flush();
  // Ends a line that was begun, so that what comes next starts at the left.
  void fresh_line();
  bool at_line_start() const { return at_line_start_; }
  bool tty() const { return tty_; }
  // Of the terminal, as it is now; 120 where there is none, or it does not know.
  std::size_t columns() const;
  // The text in a style (SGR parameters such as "2"), or as it is where no colour is wanted.
  std::string styled(std::string_view sgr, std::string_view text) const;
  // errno of the first write that failed; 0 = none.
  int failure() const { return failure_; }
  // Nothing but confirmations was printed: that they cannot be written undoes nothing.
  bool confirms_only() const { return !answers_; }
  // Nobody reads what is written here any more; also seen while nothing is written.
  bool reader_left() const;

 private:
  const int fd_;
  const bool tty_, colour_;
  std::string buffer_;
  bool at_line_start_ = true, answers_ = false;
  int failure_ = 0;
};

// "model 3 s" on a terminal's last line, or " · 3 s" behind a line that was begun, while something takes longer than a
// second. Does nothing when the output is no terminal.
class Progress {
 public:
  explicit Progress(Output& output);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  using Time = std::chrono::steady_clock::time_point;
  // Begins to wait for `what`, `since` then; empty: for what the line that was begun tells.
  void wait_for(std::string what, Time since = std::chrono::steady_clock::now());
  // Ends it and clears what it showed. Call before any other output.
  void stop();

 private:
  void work();
  void show();

  Output& output_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string what_;  // guarded by mutex_
  Time since_;
  bool waiting_ = false, shown_ = false, over_ = false;  // guarded by mutex_
  std::thread thread_;
};

// "12 ms", "3.4 s", "850 µs".
std::string duration_text(std::uint64_t microseconds);

}  // namespace agentd::app
