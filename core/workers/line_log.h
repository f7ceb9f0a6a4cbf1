// SPDX-License-Identifier: Apache-2.0
#pragma once
// line_log.h - writes a worker's standard output and standard error to the log, line by line.
//
// A plugin may write without end: long lines are cut; lines beyond a rate are dropped and counted.
//
// Threading: thread-compatible.

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/clock.h"
#include "core/base/log.h"

namespace agentd {

class LineLog {
 public:
  static constexpr std::size_t kLineBytesMax = 2'000;
  static constexpr std::uint32_t kLinesPerSecond = 50;

  // `log` and `clock` outlive it; `name` is the hook's.
  LineLog(Log& log, const Clock& clock, std::string name);

  void add(std::string_view bytes);
  // Writes the last line, even if it has no newline, and the number of dropped lines.
  void finish();

 private:
  void end_line();
  void tell_drops();

  Log& log_;
  const Clock& clock_;
  const std::string name_;
  std::string line_;
  bool cut_ = false;             // the line is longer than kLineBytesMax
  std::uint64_t second_ns_ = 0;  // when the current second began
  std::uint32_t lines_ = 0;      // lines logged in it
  std::uint64_t dropped_ = 0;
};

}  // namespace agentd
