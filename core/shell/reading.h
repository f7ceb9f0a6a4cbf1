// SPDX-License-Identifier: Apache-2.0
#pragma once
// reading.h - the growing answer of one reading, and its bounds. Private to this room.
//
// Threading: one thread.

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include "core/shell/shell.h"

namespace agentd::shell {

inline constexpr std::size_t kTextMax = 64 * 1024;
inline constexpr std::size_t kReadMax = 4 * kTextMax;  // of all texts within texts
inline constexpr std::size_t kCommandsMax = 1000;
inline constexpr int kDepthMax = 24;

template <std::size_t N>
bool holds(const std::string_view (&names)[N], std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

class Reading {
 public:
  void doubt(std::string_view why) {
    if (!out_.sure) return;
    out_.sure = false;
    out_.why_not_sure = why;
  }
  void add(ShellCommand command) {
    if (out_.commands.size() >= kCommandsMax)
      doubt("it has too many commands");
    else
      out_.commands.push_back(std::move(command));
  }
  // False: there is more to read than the bounds allow.
  bool begins(std::size_t bytes, int depth) {
    read_ += bytes;
    if (read_ <= kReadMax && bytes <= kTextMax && depth <= kDepthMax && out_.commands.size() < kCommandsMax)
      return true;
    doubt("it is too long or nested too deeply");
    return false;
  }
  // A variable is set. `exported`: also for programs. `value`: null = it is not known.
  void sets(std::string_view name, bool exported, const ShellWord* value = nullptr);
  std::size_t size() const { return out_.commands.size(); }
  // The commands from one on get their input from the text.
  void feed(std::size_t begin) {
    for (std::size_t i = begin; i < out_.commands.size(); ++i) out_.commands[i].fed = true;
  }
  ShellReading take() { return std::move(out_); }

 private:
  ShellReading out_;
  std::size_t read_ = 0;
};

// Reads a text that a shell runs: the commands of it, and of all texts in it.
void read_text(std::string_view text, Reading& reading, int depth);
// Adds a simple command and what it runs by its arguments.
void add_command(ShellCommand command, Reading& reading, int depth);

// A variable that only a shell knows: in lower case, and no program is known to obey it.
bool is_local(std::string_view name);
bool is_name(std::string_view text);
bool is_reserved(std::string_view word);

}  // namespace agentd::shell
