// SPDX-License-Identifier: Apache-2.0
#include "core/app/approver.h"

#include <fcntl.h>
#include <sys/ioctl.h>

#include "core/app/keyboard.h"
#include "core/app/question.h"
#include "core/base/bytes.h"
#include "core/base/shell_word.h"

namespace agentd::app {
namespace {

constexpr std::size_t kAdviceBytesMax = 500;

PermissionAnswer denied(std::string reason) { return {false, false, std::move(reason)}; }

// The calls that "always" would permit; the question has shown the rules that are kept.
std::string always_text(const Tool& tool, const AskedBy& by) {
  if (!by.keeps.empty()) return ", [a]lways in this project";
  return ", [a]lways (every " + neutral_line(tool.name, 100) + " call of this session" +
         (by.hook.empty() ? "" : " without a hook's question") + ")";
}

}  // namespace

PermissionAnswer TerminalApprover::ask(const SessionContext& session, const Tool& tool, const ToolCall& call,
                                       const AskedBy& by) {
  const MutexLock one_at_a_time(asking_);
  if (place_.before) place_.before();
  PermissionAnswer out = answer(session, tool, call, by);
  if (place_.after) place_.after();
  return out;
}

PermissionAnswer TerminalApprover::answer(const SessionContext& session, const Tool& tool, const ToolCall& call,
                                          const AskedBy& by) {
  const int terminal = place_.terminal.get();
  QuestionView view;
  view.root = session.start();
  view.hidden = place_.hidden;
  winsize size{};
  if (::ioctl(terminal, TIOCGWINSZ, &size) == 0 && size.ws_col != 0 && size.ws_row != 0) {
    view.columns = size.ws_col;
    view.rows = size.ws_row;
  }
  const auto write = [&](std::string_view text) { return write_all(terminal, text).has_value(); };
  const QuestionPlace place{terminal, write, place_.pastes, place_.keep, place_.withdrawn};
  std::string body = question_text(tool, call, by, view);
  const bool offers = place_.always && !by.each_time;
  const std::string always = offers ? always_text(tool, by) : std::string();
  const std::string prompt = "Allow? [y]es, [n]o, n REASON" + always + ": ";
  for (;; body = offers ? "Please answer y, n, n and a reason for the model, or a.\n"
                        : "Please answer y, n, or n and a reason for the model.\n") {
    const Result<std::string> line = ask_person(place, body, prompt);
    if (!line) return {false, false, line.error().message, false};
    const Answer answer = parse_answer(*line);
    switch (answer.kind) {
      case Answer::Kind::kYes:
        return {true, false, {}};
      case Answer::Kind::kAlways:
        if (offers) return {true, true, {}};
        break;
      case Answer::Kind::kNo:
        return denied("the user said no" + (answer.reason.empty() ? "" : ": " + answer.reason));
      case Answer::Kind::kUnclear:
        break;
    }
  }
}

PermissionAnswer AbsentApprover::ask(const SessionContext&, const Tool& tool, const ToolCall&, const AskedBy& by) {
  if (!by.hook.empty())
    return denied("the hook " + by.hook + " requires a person's decision" +
                  (by.reason.empty() ? "" : " (" + by.reason + ")") +
                  ", but there is no terminal to ask on; run agentd on a terminal, or change the hook");
  if (by.each_time)
    return denied("a person must decide about this call (" + by.reason +
                  "), but there is no terminal to ask on; run agentd on a terminal, or change the rule");
  std::string flags;
  for (const std::string& rule : by.missing) flags += " --allow " + shell_word(rule);
  const bool exact = !flags.empty() && flags.size() <= kAdviceBytesMax && !has_control_character(flags);
  return denied("there is no terminal to ask on; start agentd with" +
                (exact ? flags + ", or add " + (by.missing.size() == 1 ? "this rule" : "these rules")
                       : " --allow " + tool.name + ", or add it") +
                " to permissions.allow in config.yaml" + (by.reason.empty() ? "" : " (" + by.reason + ")"));
}

std::unique_ptr<Approver> make_approver(bool on_terminal, TerminalApprover::Place place) {
  if (on_terminal) place.terminal = UniqueFd(::open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY));
  if (!place.terminal.valid()) return std::make_unique<AbsentApprover>();
  return std::make_unique<TerminalApprover>(std::move(place));
}

}  // namespace agentd::app
