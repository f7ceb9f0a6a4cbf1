// SPDX-License-Identifier: Apache-2.0
#include "core/app/keyboard.h"

#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <chrono>

#include "core/app/signals.h"
#include "core/base/bytes.h"

namespace agentd::app {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kLineBytesMax = 1u << 20;
constexpr std::size_t kKeptBytesMax = 1u << 20;
constexpr std::size_t kTerminalLineBytes = 8192;  // more than the kernel keeps of a line
// No person reads and answers a question faster; the next bytes of a paste arrive sooner.
constexpr milliseconds kReading{300};
constexpr milliseconds kTyping{1000};  // between two typed keys
// No person types the next line this soon after an Enter, and a burst split by a busy machine is seen as one.
constexpr milliseconds kSettling{150};
// A person may keep typing a message for this long; a paste may take this long to arrive.
constexpr milliseconds kWithdrawalLook{50};  // a withdrawal is noticed
constexpr milliseconds kTypingMax{60'000}, kPasteMax{10'000};

// The modes of a terminal, restored at the end.
class TerminalModes {
 public:
  explicit TerminalModes(int fd) : fd_(fd), known_(::tcgetattr(fd, &before_) == 0) {}
  ~TerminalModes() {
    if (known_) ::tcsetattr(fd_, TCSANOW, &before_);
  }
  TerminalModes(const TerminalModes&) = delete;
  TerminalModes& operator=(const TerminalModes&) = delete;

  bool known() const { return known_; }
  // Bytes as they come, unseen; signals of the keyboard stay.
  void silent() const {
    termios now = before_;
    now.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    now.c_cc[VMIN] = 1;
    now.c_cc[VTIME] = 0;
    ::tcsetattr(fd_, TCSANOW, &now);
  }
  // Complete lines, which the terminal echoes and lets the user edit. Input just before the change is dropped.
  void lines() const { lines(ECHO | ECHOE); }
  // The same without echo, except for the Enter.
  void unseen_lines() const { lines(ECHONL); }

 private:
  void lines(tcflag_t echo) const {
    termios now = before_;
    now.c_lflag &= ~static_cast<tcflag_t>(ECHO | ECHOE | ECHOK | ECHONL);
    now.c_lflag |= ICANON | ISIG | echo;
    now.c_iflag |= ICRNL;
    ::tcsetattr(fd_, TCSANOW, &now);
    ::tcflush(fd_, TCIFLUSH);
  }

  const int fd_;
  termios before_{};
  const bool known_;
};

std::string trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return {};
  return std::string(text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1));
}

Error interrupted() { return {Code::kCancelled, "the user interrupted the question"}; }
Error withdrawn(const QuestionPlace& place) {
  (void)place.write(
      "\n(The question is withdrawn: it was cancelled in another terminal, or agentd serve has ended.)\n");
  return {Code::kCancelled, "the question was withdrawn before an answer"};
}
Error terminal_gone() { return {Code::kUnavailable, "the terminal was closed before an answer"}; }

// Reads pending and arriving input until the terminal is idle: nothing for `quiet`, or for `quiet_after` once
// something came. At most 1 MiB is kept.
Result<std::string> take_pending(const QuestionPlace& place, const TerminalModes& modes, milliseconds quiet,
                                 milliseconds quiet_after, milliseconds longest) {
  // Also makes a line that was begun readable, which the terminal holds back while it gives lines.
  modes.silent();
  const auto begin = std::chrono::steady_clock::now();
  std::string out;
  for (milliseconds pause = quiet;;) {
    switch (wait_for_input(place.input, static_cast<int>(pause.count()))) {
      case InputWait::kSignal:
        return interrupted();
      case InputWait::kTimeout:
        return out;
      case InputWait::kReady:
        break;
    }
    if (std::chrono::steady_clock::now() - begin > longest)
      return Error{Code::kUnavailable, "the terminal sends input without a pause, so no question could be asked"};
    char buffer[4096];
    const ssize_t got = ::read(place.input, buffer, sizeof buffer);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got <= 0) return terminal_gone();
    pause = quiet_after;
    for (ssize_t i = 0; i < got && out.size() < kKeptBytesMax; ++i)
      if (buffer[i] != '\0' && buffer[i] != '\x04') out += buffer[i];  // Ctrl-D ends no chat here
  }
}

// One line that the terminal gave for an Enter; one read gives no more than that.
Result<std::string> read_typed_line(const QuestionPlace& place) {
  const int fd = place.input;
  char buffer[kTerminalLineBytes];
  for (;;) {
    const InputWait came = wait_for_input(fd, place.withdrawn ? static_cast<int>(kWithdrawalLook.count()) : -1);
    if (came == InputWait::kSignal) return interrupted();
    if (place.withdrawn && place.withdrawn()) return withdrawn(place);
    if (came == InputWait::kTimeout) continue;
    const ssize_t got = ::read(fd, buffer, sizeof buffer);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got < 0) return terminal_gone();
    const std::string_view line(buffer, static_cast<std::size_t>(got));
    if (!line.ends_with('\n')) return interrupted();  // Ctrl-D
    return std::string(line.substr(0, line.size() - 1));
  }
}

struct Typed {
  std::string line;
  bool pasted = false;  // then the line is ignored
};
Result<Typed> type_line(const QuestionPlace& place, const TerminalModes& modes, std::string_view prompt) {
  modes.lines();
  if (!place.write(prompt)) return terminal_gone();
  AGENTD_TRY(std::string line, read_typed_line(place));
  const bool marked = line.find(kPasteBegins) != std::string::npos || line.find(kPasteEnds) != std::string::npos;
  // Without lines, since a terminal that gives lines says nothing of one that was only begun.
  modes.silent();
  const InputWait more = marked ? InputWait::kReady : wait_for_input(place.input, static_cast<int>(kSettling.count()));
  if (more == InputWait::kSignal) return interrupted();
  if (more == InputWait::kTimeout) return Typed{std::move(line)};
  if (!place.write("(Pasted text is not an answer: type one line, then Enter.)\n")) return terminal_gone();
  AGENTD_TRY(const std::string rest, take_pending(place, modes, kReading, kReading, kPasteMax));
  if (place.keep) place.keep(line + "\n" + rest);
  return Typed{{}, true};
}

Result<std::string> ask_at_terminal(const QuestionPlace& place, const TerminalModes& modes, std::string_view prompt) {
  AGENTD_TRY(std::string early, take_pending(place, modes, kReading, kTyping, kTypingMax));
  if (!early.empty()) {
    if (place.keep) place.keep(std::move(early));
    if (!place.write("(Text typed before this question does not answer it.)\n")) return terminal_gone();
  }
  for (;;) {
    AGENTD_TRY(Typed typed, type_line(place, modes, prompt));
    if (!typed.pasted) return std::move(typed.line);
  }
}

}  // namespace

std::optional<std::string> read_line(int fd) {
  std::string out;
  while (out.size() < kLineBytesMax) {
    char c = 0;
    // Byte by byte: what follows the line belongs to the next reader.
    if (!wait_for_input(fd)) return std::nullopt;
    const ssize_t got = ::read(fd, &c, 1);
    if (got < 0 || (got == 0 && out.empty())) return std::nullopt;
    if (got == 0 || c == '\n') break;
    out += c;
  }
  return out;
}

bool input_within(int fd, int timeout_ms) { return wait_for_input(fd, timeout_ms) == InputWait::kReady; }

bool marks_pastes(std::string_view term) { return !term.empty() && term != "dumb"; }

Result<std::string> ask_person(const QuestionPlace& place, std::string_view body, std::string_view prompt) {
  const TerminalModes modes(place.input);
  if (!place.write(body)) return terminal_gone();
  if (!modes.known()) {
    if (!place.write(prompt)) return terminal_gone();
    std::optional<std::string> line = read_line(place.input);
    if (!line) return interrupted();
    return std::move(*line);
  }
  if (place.pastes) place.write(kPastesOn);
  Result<std::string> out = ask_at_terminal(place, modes, prompt);
  if (place.pastes) place.write(kPastesOff);
  return out;
}

Result<std::string> ask_secret(const QuestionPlace& place, std::string_view prompt) {
  const TerminalModes modes(place.input);
  modes.unseen_lines();
  if (!place.write(prompt)) return terminal_gone();
  return read_typed_line(place);
}

Answer parse_answer(std::string_view line) {
  const std::string text = trimmed(line);
  const std::size_t end = std::min(text.find_first_of(" \t,:;"), text.size());
  const std::string word = ascii_lower(text.substr(0, end));
  std::string rest = trimmed(std::string_view(text).substr(end));
  if (word == "n" || word == "no") {
    const std::size_t begin = std::min(rest.find_first_not_of(",:; \t"), rest.size());
    return {Answer::Kind::kNo, rest.substr(begin)};
  }
  if (!rest.empty()) return {};
  if (word == "y" || word == "yes") return {Answer::Kind::kYes, {}};
  if (word == "a" || word == "always") return {Answer::Kind::kAlways, {}};
  return {};
}

}  // namespace agentd::app
