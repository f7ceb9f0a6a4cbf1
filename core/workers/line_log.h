// SPDX-License-Identifier: Apache-2.0
#pragma once
// line_log.h - what a worker writes to its standard output and standard error, as lines of the log.
//
// A plugin may write without end: lines are cut, and beyond a rate they are counted and dropped.
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
  // The last line, which need not end, and what was dropped.
  void finish();

 private:
  void end_line();
  void tell_drops();

  Log& log_;
  const Clock& clock_;
  const std::string name_;
  std::string line_;
  bool cut_ = false;             // the line is longer than what is kept of it
  std::uint64_t second_ns_ = 0;  // when the running second began
  std::uint32_t lines_ = 0;      // written in it
  std::uint64_t dropped_ = 0;
};

}  // namespace agentd
