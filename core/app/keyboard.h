// SPDX-License-Identifier: Apache-2.0
#pragma once
// keyboard.h - a question to the person at a terminal, answered by keys that came after it.
//
// A terminal queues what is typed or pasted while nobody reads. A queued line must never answer a
// question that its author has not seen, so a question is shown first, what waits is taken out of
// the queue, and only what comes after the prompt counts.
//
// Threading: one thread at a time; waiting ends when SignalScope catches a signal.

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace agentd::app {

// One line from a descriptor, without its end; nullopt at the end of input, or when a signal came.
std::optional<std::string> read_line(int fd);

// Whether bytes can be read within the time; false also when a signal was caught.
bool input_within(int fd, int timeout_ms);

// Bracketed paste: the terminal marks what is pasted, where TERM names one that can.
bool marks_pastes(std::string_view term);
inline constexpr std::string_view kPastesOn = "\x1b[?2004h", kPastesOff = "\x1b[?2004l";
inline constexpr std::string_view kPasteBegins = "\x1b[200~", kPasteEnds = "\x1b[201~";

struct QuestionPlace {
  int input = -1;
  std::function<bool(std::string_view)> write;  // false: the terminal is gone
  bool pastes = false;                          // marks_pastes() of this terminal
  // Gets what was typed or pasted before the prompt, or pasted at it; empty = it is dropped.
  std::function<void(std::string)> keep{};
};

// Shows `body`, lets the keyboard come to rest, shows `prompt`, and gives the line that was typed
// then and ended with Enter. Bytes within 150 ms after the Enter show that the line was pasted: it
// counts for nothing, what comes with it is taken until 300 ms pass without any, and after a
// sentence the prompt is shown again. So is a marked paste. Where the input is no terminal, it is
// the next line.
//
// Error, as a sentence about the user: kCancelled at Ctrl-D and at a signal, kUnavailable when the
// terminal is gone or its input has no pause for 10 s (60 s before the prompt).
Result<std::string> ask_person(const QuestionPlace& place, std::string_view body, std::string_view prompt);

// Shows `prompt` and gives the line that is typed or pasted then, which the terminal does not show; what waited
// before it is dropped. The terminal is as it was afterwards, also when a signal comes. Errors as of ask_person().
// REQUIRES: place.input is a terminal.
Result<std::string> ask_secret(const QuestionPlace& place, std::string_view prompt);

struct Answer {
  enum class Kind { kYes, kNo, kAlways, kUnclear };
  Kind kind = Kind::kUnclear;
  std::string reason;  // of a no
};
// "y", "yes", "n", "no", "n REASON", "a", "always"; case and blanks around do not matter.
Answer parse_answer(std::string_view line);

}  // namespace agentd::app
