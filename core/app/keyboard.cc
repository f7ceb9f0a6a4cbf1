// SPDX-License-Identifier: Apache-2.0
#include "core/app/keyboard.h"

#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>

#include "core/app/signals.h"

namespace agentd::app {
namespace {

constexpr std::size_t kLineBytesMax = 1u << 20;
constexpr std::size_t kPendingBytesMax = 1u << 20;
// Nobody reads a question and answers it faster; a paste that is under way brings its next bytes
// sooner.
constexpr int kReadingMs = 300;
constexpr int kTypingMs = 1000;  // between two keys of somebody who types
constexpr int kBurstMs = 20;     // between two bytes of a paste

// The modes of a terminal, put back at the end.
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
  // Whole lines, which the terminal shows and lets correct.
  void lines() const {
    termios now = before_;
    now.c_lflag |= ICANON | ECHO | ECHOE | ISIG;
    now.c_iflag |= ICRNL;
    ::tcsetattr(fd_, TCSANOW, &now);
  }

 private:
  const int fd_;
  termios before_{};
  const bool known_;
};

std::string trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return {};
  return std::string(text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1));
}

// False when a signal was caught.
bool drain(const QuestionPlace& place, const TerminalModes& modes, int quiet_ms, bool& had) {
  modes.silent();
  std::optional<std::string> pending = take_pending(place.input, quiet_ms);
  modes.lines();
  if (!pending) return false;
  had = had || !pending->empty();
  if (!pending->empty() && place.keep) place.keep(std::move(*pending));
  return true;
}

// A line of the person, or why it is none: then what came with it has been taken.
enum class Typed { kLine, kPaste, kNothing };
Typed type_line(const QuestionPlace& place, const TerminalModes& modes, std::string& line) {
  std::optional<std::string> read = read_line(place.input);
  if (!read) return Typed::kNothing;
  line = std::move(*read);
  if (line.find(kPasteBegins) == std::string::npos && !input_within(place.input, kBurstMs))
    return Typed::kLine;
  if (place.keep) place.keep(line + "\n");
  bool had = true;
  return drain(place, modes, kReadingMs, had) ? Typed::kPaste : Typed::kNothing;
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

bool input_within(int fd, int timeout_ms) {
  return wait_for_input(fd, timeout_ms) == InputWait::kReady;
}

std::optional<std::string> take_pending(int fd, int quiet_ms) {
  std::string out;
  const TerminalModes modes(fd);
  if (!modes.known()) return out;
  modes.silent();
  for (;;) {
    switch (wait_for_input(fd, out.empty() ? quiet_ms : std::max(quiet_ms, kTypingMs))) {
      case InputWait::kSignal:
        return std::nullopt;
      case InputWait::kTimeout:
        return out;
      case InputWait::kReady:
        break;
    }
    char buffer[4096];
    const ssize_t got = ::read(fd, buffer, sizeof buffer);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got <= 0) return out;  // gone: whoever reads next learns it
    for (ssize_t i = 0; i < got && out.size() < kPendingBytesMax; ++i)
      if (buffer[i] != '\0' && buffer[i] != '\x04') out += buffer[i];  // Ctrl-D ends no chat here
  }
}

bool marks_pastes(std::string_view term) { return !term.empty() && term != "dumb"; }

std::optional<std::string> ask_person(const QuestionPlace& place, std::string_view body,
                                      std::string_view prompt) {
  const TerminalModes modes(place.input);
  if (!place.write(body)) return std::nullopt;
  if (!modes.known()) {
    if (!place.write(prompt)) return std::nullopt;
    return read_line(place.input);
  }
  if (place.pastes) place.write(kPastesOn);
  bool early = false;
  std::optional<std::string> out;
  if (drain(place, modes, kReadingMs, early)) {
    if (early) place.write("(What was typed before this question does not answer it.)\n");
    std::string line;
    for (Typed typed = Typed::kPaste; typed == Typed::kPaste;) {
      if (!place.write(prompt)) break;
      typed = type_line(place, modes, line);
      if (typed == Typed::kPaste)
        place.write("\n(Pasted text does not answer it: type the answer.)\n");
      if (typed == Typed::kLine) out = std::move(line);
    }
  }
  if (place.pastes) place.write(kPastesOff);
  return out;
}

Answer parse_answer(std::string_view line) {
  const std::string text = trimmed(line);
  const std::size_t end = std::min(text.find_first_of(" \t,:;"), text.size());
  std::string word = text.substr(0, end);
  for (char& c : word) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
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
