// SPDX-License-Identifier: Apache-2.0
#include "core/app/terminal.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>

#include "core/app/signals.h"
#include "core/base/thread.h"
#include "core/base/thrown.h"

namespace agentd::app {
namespace {

constexpr std::size_t kBufferBytes = 64 * 1024;
constexpr std::string_view kStyleEnds = "\x1b[0m";

// The bytes for one write: a signal may end the program between two, and must not leave the terminal in a style. A
// style that is longer than one write is cut.
std::size_t next_write(std::string_view text) {
  if (text.size() <= PIPE_BUF) return text.size();
  const std::string_view piece = text.substr(0, PIPE_BUF);
  const std::size_t end = piece.rfind(kStyleEnds);
  const std::size_t begin = piece.find("\x1b[", end == std::string_view::npos ? 0 : end + kStyleEnds.size());
  return begin == std::string_view::npos || begin == 0 ? piece.size() : begin;
}

}  // namespace

void Output::print(std::string_view text) {
  answers_ = answers_ || !text.empty();
  confirm(text);
}

void Output::confirm(std::string_view text) {
  if (text.empty()) return;
  buffer_ += text;
  at_line_start_ = text.back() == '\n';
  if (buffer_.size() >= kBufferBytes) flush();
}

void Output::line(std::string_view text) {
  print(text);
  print("\n");
  if (tty_) flush();
}

void Output::flush() {
  std::string_view left = buffer_;
  while (!left.empty() && failure_ == 0) {
    // A blocked reader must not keep the program from ending.
    if (!wait_for_output(fd_)) {
      failure_ = EINTR;
      break;
    }
    const ssize_t wrote =
        ::write(fd_, left.data(), colour_ ? next_write(left) : std::min<std::size_t>(left.size(), PIPE_BUF));
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) failure_ = errno;
    if (wrote > 0) left.remove_prefix(static_cast<std::size_t>(wrote));
  }
  buffer_.clear();
}

bool Output::reader_left() const {
  // A pipe without readers is an error; a socket or a terminal that is gone hangs up. A file has neither.
  pollfd wait{fd_, 0, 0};
  return failure_ == EPIPE ||
         (SystemClock().poll_for({&wait, 1}, Milliseconds(0)) > 0 && (wait.revents & (POLLERR | POLLHUP)) != 0);
}

std::size_t Output::columns() const {
  constexpr std::size_t kWithoutTerminal = 120;
  winsize size{};
  return tty_ && ::ioctl(fd_, TIOCGWINSZ, &size) == 0 && size.ws_col != 0 ? size.ws_col : kWithoutTerminal;
}

void Output::fresh_line() {
  if (!at_line_start_) print("\n");
}

std::string Output::styled(std::string_view sgr, std::string_view text) const {
  if (!colour_ || sgr.empty()) return std::string(text);
  return "\x1b[" + std::string(sgr) + "m" + std::string(text) + "\x1b[0m";
}

Progress::Progress(Output& output) : output_(output) {
  // The line is optional: without it the work continues.
  if (output_.tty()) (void)thrown_by([this] { thread_ = Thread([this] { (void)thrown_by([this] { work(); }); }); });
}

Progress::~Progress() {
  stop();
  {
    const MutexLock lock(mutex_);
    over_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Progress::wait_for(std::string what, Time since) {
  if (!thread_.joinable()) return;
  stop();
  const MutexLock lock(mutex_);
  what_ = std::move(what);
  since_ = since;
  waiting_ = true;
  changed_.notify_all();
}

void Progress::stop() {
  if (!thread_.joinable()) return;
  const MutexLock lock(mutex_);
  waiting_ = false;
  if (!shown_) return;
  output_.print(what_.empty() ? "\x1b[K" : "\r\x1b[K");
  output_.flush();
  shown_ = false;
}

void Progress::show() {
  const auto seconds =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - since_).count();
  const std::string text = std::to_string(seconds) + " s";
  // After an open line, the cursor returns to its end (DECSC, DECRC).
  output_.print(what_.empty() ? "\x1b"
                                "7" +
                                    output_.styled("2", " · " + text) +
                                    "\x1b[K\x1b"
                                    "8"
                              : "\r\x1b[K" + output_.styled("2", what_ + " " + text));
  output_.flush();
  shown_ = true;
}

void Progress::work() {
  const MutexLock lock(mutex_);
  while (!over_) {
    if (!waiting_) {
      changed_.wait(mutex_);
      continue;
    }
    const bool changed = changed_.wait_for(mutex_, clock_, std::chrono::seconds(1));
    if (!changed && waiting_ && !over_ && (shown_ || what_.empty() || output_.at_line_start())) show();
  }
}

std::string duration_text(std::uint64_t microseconds) {
  char text[32];
  if (microseconds < 1000)
    std::snprintf(text, sizeof text, "%llu µs", static_cast<unsigned long long>(microseconds));
  else if (microseconds < 1'000'000)
    std::snprintf(text, sizeof text, "%.*f ms", microseconds < 10'000 ? 1 : 0, static_cast<double>(microseconds) / 1e3);
  else
    std::snprintf(text, sizeof text, "%.1f s", static_cast<double>(microseconds) / 1e6);
  return text;
}

}  // namespace agentd::app
