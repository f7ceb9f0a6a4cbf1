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

// Asks on the controlling terminal: y once, n, n with a reason for the model, a for every call of
// the tool in this session. Only keys that come after the question count (keyboard.h); an interrupt
// or the end of input is a no.
class TerminalApprover final : public Approver {
 public:
  struct Place {
    UniqueFd terminal;
    bool pastes = false;   // marks_pastes() of the terminal
    std::string root{};    // where relative paths of tools begin
    std::string hidden{};  // a file that no question shows
    // Called before the question is shown, so that other output ends its line.
    std::function<void()> before;
    // Called when it was answered.
    std::function<void()> after{};
    // Gets what was typed before the question; empty = dropped.
    std::function<void(std::string)> keep;
  };
  explicit TerminalApprover(Place place) : place_(std::move(place)) {}
  PermissionAnswer ask(const Tool& tool, const ToolCall& call, const AskedBy& by) override;

 private:
  PermissionAnswer answer(const Tool& tool, const ToolCall& call, const AskedBy& by);

  Place place_;
};

// Nobody can be asked: every question is a no, with a sentence that says what would change it.
class AbsentApprover final : public Approver {
 public:
  PermissionAnswer ask(const Tool& tool, const ToolCall& call, const AskedBy& by) override;
};

// The one that fits: a terminal if `on_terminal` and it can be opened. `place.terminal` is set
// here.
std::unique_ptr<Approver> make_approver(bool on_terminal, TerminalApprover::Place place);

}  // namespace agentd::app
