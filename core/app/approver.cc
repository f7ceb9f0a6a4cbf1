// SPDX-License-Identifier: Apache-2.0
#include "core/app/approver.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "core/app/signals.h"
#include "core/codec/json.h"

namespace agentd::app {
namespace {

constexpr std::size_t kLineBytesMax = 1u << 20;
constexpr std::size_t kShownBytes = 8192;

PermissionAnswer denied(std::string reason) { return {false, false, std::move(reason)}; }

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

std::string question_text(const Tool& tool, const ToolCall& call) {
  std::string out = tool.name + " wants to run:\n";
  const Result<JsonDocument> document = JsonDocument::parse(call.input_json);
  const JsonView root = document ? document->root() : JsonView();
  if (!root.is_object()) return neutral(out + "  " + call.input_json + "\n");
  for (std::size_t i = 0; i < root.size(); ++i) {
    const std::string value =
        root.at(i).is_string() ? std::string(root.at(i).string_or({})) : root.at(i).text();
    out += "  " + std::string(root.key_at(i)) + ": " + value.substr(0, kShownBytes);
    if (value.size() > kShownBytes) out += " … " + std::to_string(value.size()) + " bytes in all";
    out += "\n";
  }
  return neutral(out);
}

PermissionAnswer TerminalApprover::ask(const Tool& tool, const ToolCall& call) {
  if (before_) before_();
  std::string question =
      question_text(tool, call) + "Allow? [y]es, [n]o, [a]lways for " + neutral(tool.name) + ": ";
  for (;;) {
    if (!write_all(terminal_.get(), question))
      return denied("the terminal is gone, nobody could be asked");
    const std::optional<std::string> line = read_line(terminal_.get());
    if (!line) return denied("the user interrupted the question");
    if (*line == "y" || *line == "yes") return {true, false, {}};
    if (*line == "a" || *line == "always") return {true, true, {}};
    if (*line == "n" || *line == "no") return denied("the user said no");
    // Anything longer is a no with its reason, which the model reads.
    if (line->size() > 3) return denied("the user said no: " + *line);
    question = "Please answer y, n or a (or write why not): ";
  }
}

PermissionAnswer AbsentApprover::ask(const Tool& tool, const ToolCall&) {
  return denied("nobody is there to be asked; start agentd with --allow " + tool.name +
                ", or name it under permissions.allow in config.yaml");
}

std::unique_ptr<Approver> make_approver(bool on_terminal, std::function<void()> before) {
  UniqueFd terminal(on_terminal ? ::open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY) : -1);
  if (!terminal.valid()) return std::make_unique<AbsentApprover>();
  return std::make_unique<TerminalApprover>(std::move(terminal), std::move(before));
}

}  // namespace agentd::app
