// SPDX-License-Identifier: Apache-2.0
#pragma once
// terminal.h - output: buffered descriptors, and a progress display.
//
// Threading: Output is thread-compatible; Progress is thread-safe.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/mutex.h"
#include "core/base/neutral.h"
#include "core/base/thread.h"

namespace agentd::app {

// One descriptor. It is disabled when its peer has exited; other failures are kept until the end.
class Output {
 public:
  // `colour`: whether escape sequences may be written; only ever true for a terminal.
  Output(int fd, bool tty, bool colour) : fd_(fd), tty_(tty), colour_(colour) {}
  ~Output() { flush(); }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  void print(std::string_view text);  // buffered
  // The same for a text that only confirms success.
  void confirm(std::string_view text);
  void line(std::string_view text);  // ends the line, and flushes on a terminal
  void flush();
  // Ends an open line, so that the next output starts at the left.
  void fresh_line();
  bool at_line_start() const { return at_line_start_; }
  bool tty() const { return tty_; }
  // The terminal's present width; 120 without a terminal or if it is unknown.
  std::size_t columns() const;
  // The text in a style (SGR parameters such as "2"), or unchanged without colours.
  std::string styled(std::string_view sgr, std::string_view text) const;
  bool coloured() const { return colour_; }
  // errno of the first write that failed; 0 = none.
  int failure() const { return failure_; }
  // True if only confirmations were printed: failing to write them does not undo the work.
  bool confirms_only() const { return !answers_; }
  // True if the reader has exited; detected even without a write.
  bool reader_left() const;

 private:
  const int fd_;
  const bool tty_, colour_;
  std::string buffer_;
  bool at_line_start_ = true, answers_ = false;
  int failure_ = 0;
};

// Shows "model 3 s" on a terminal's last line, or " · 3 s" after an open line, while something takes longer than a
// second. Does nothing if the output is not a terminal.
class Progress {
 public:
  explicit Progress(Output& output);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  using Time = std::chrono::steady_clock::time_point;
  // Starts waiting for `what`, measured from `since`; empty: for the work named by the open line.
  void wait_for(std::string what, Time since = std::chrono::steady_clock::now());
  // Ends it and clears its display. Call before any other output.
  void stop();

 private:
  void work();
  void show() REQUIRES(mutex_);

  Output& output_;
  const SystemClock clock_{};  // what it shows is for people
  Mutex mutex_;
  Condition changed_;
  std::string what_ GUARDED_BY(mutex_);
  Time since_ GUARDED_BY(mutex_);
  bool waiting_ GUARDED_BY(mutex_) = false, shown_ GUARDED_BY(mutex_) = false, over_ GUARDED_BY(mutex_) = false;
  Thread thread_;
};

// "12 ms", "3.4 s", "850 µs".
std::string duration_text(std::uint64_t microseconds);

}  // namespace agentd::app
