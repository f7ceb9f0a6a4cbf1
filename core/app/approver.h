// SPDX-License-Identifier: Apache-2.0
#pragma once
// approver.h - asks the person at the terminal whether a tool call may run.
//
// Threading: called on the run's thread.

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/app/terminal.h"
#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/tools/tool.h"

namespace agentd::app {

// Asks on the controlling terminal: y once, a always in this session, n with an optional reason. An
// interrupt or the end of input is a no.
class TerminalApprover final : public Approver {
 public:
  // `before` is called before the question is shown, so that other output ends its line.
  TerminalApprover(UniqueFd terminal, std::function<void()> before)
      : terminal_(std::move(terminal)), before_(std::move(before)) {}
  PermissionAnswer ask(const Tool& tool, const ToolCall& call) override;

 private:
  UniqueFd terminal_;
  std::function<void()> before_;
};

// Nobody can be asked: every question is a no, with a sentence that says what would change it.
class AbsentApprover final : public Approver {
 public:
  PermissionAnswer ask(const Tool& tool, const ToolCall& call) override;
};

// The one that fits: a terminal if standard error is one and can be opened.
std::unique_ptr<Approver> make_approver(bool on_terminal, std::function<void()> before);

// One line from a descriptor, without its end; nullopt at the end of input, or when a signal came.
std::optional<std::string> read_line(int fd);

// What a call would do, whole and harmless, for a person who decides: the exact bytes, escaped.
std::string question_text(const Tool& tool, const ToolCall& call);

}  // namespace agentd::app
