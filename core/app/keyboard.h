// SPDX-License-Identifier: Apache-2.0
#pragma once
// keyboard.h - asks the person at a terminal; only keys pressed after the question answer it.
//
// A terminal queues text that is typed or pasted while no program reads. A queued line must never answer a
// question that its author has not seen, so the question is shown first, the queue is emptied, and only input
// after the prompt is used.
//
// Threading: one thread at a time; waiting ends when SignalScope catches a signal.

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace agentd::app {

// Reads one line from a descriptor, without its end; nullopt at the end of input, or after a signal.
std::optional<std::string> read_line(int fd);

// True if bytes can be read within the time; false also after a signal.
bool input_within(int fd, int timeout_ms);

// True if the terminal named by TERM marks pasted text (bracketed paste).
bool marks_pastes(std::string_view term);
inline constexpr std::string_view kPastesOn = "\x1b[?2004h", kPastesOff = "\x1b[?2004l";
inline constexpr std::string_view kPasteBegins = "\x1b[200~", kPasteEnds = "\x1b[201~";

struct QuestionPlace {
  int input = -1;
  std::function<bool(std::string_view)> write;  // false: the terminal was closed
  bool pastes = false;                          // marks_pastes() of this terminal
  // Gets the text typed or pasted before the prompt, or pasted at it; empty = it is dropped.
  std::function<void(std::string)> keep{};
  // Asked several times a second: true once nobody needs the answer any more; empty = it is always needed.
  std::function<bool()> withdrawn{};
};

// Shows `body`, waits until the keyboard is idle, shows `prompt`, and returns the line that is then typed and
// ended with Enter. Bytes within 150 ms after the Enter mean that the line was pasted: it is ignored, further
// input is discarded until 300 ms pass without any, and the prompt is shown again after an explanation. A marked
// paste is handled in the same way. If the input is not a terminal, returns the next line.
//
// Error, as a sentence about the user: kCancelled at Ctrl-D, at a signal and when the question was withdrawn, which is
// told; kUnavailable if the terminal was closed or its input has no pause for 10 s (60 s before the prompt).
Result<std::string> ask_person(const QuestionPlace& place, std::string_view body, std::string_view prompt);

// Shows `prompt` and returns the line that is then typed or pasted without echo; earlier input is dropped. The
// terminal's modes are restored afterwards, also after a signal. Errors as of ask_person().
// REQUIRES: place.input is a terminal.
Result<std::string> ask_secret(const QuestionPlace& place, std::string_view prompt);

struct Answer {
  enum class Kind { kYes, kNo, kAlways, kUnclear };
  Kind kind = Kind::kUnclear;
  std::string reason;  // of a no
};
// "y", "yes", "n", "no", "n REASON", "a", "always"; case and surrounding blanks are ignored.
Answer parse_answer(std::string_view line);

}  // namespace agentd::app
