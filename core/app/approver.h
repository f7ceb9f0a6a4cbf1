// SPDX-License-Identifier: Apache-2.0
#pragma once
// approver.h - asks the person at the terminal whether a tool call may run, and for values that an MCP server wants.
//
// Threading: ask() is called on the run's thread, elicit() on those of calls; one question is shown after the other.

#include <functional>
#include <memory>
#include <set>
#include <string>

#include "core/app/terminal.h"
#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/base/mutex.h"
#include "core/tools/elicitor.h"
#include "core/tools/tool.h"

namespace agentd::app {

// Asks on the controlling terminal: y once, n, n with a reason for the model, a for every call of the tool in this
// session. Only keys pressed after the question are used (keyboard.h); an interrupt or the end of input means no.
class TerminalApprover final : public Approver, public Elicitor {
 public:
  struct Place {
    UniqueFd terminal;
    bool pastes = false;   // marks_pastes() of the terminal
    bool always = true;    // offers to allow every call of the tool in this session
    std::string hidden{};  // a file that no question shows
    // Called before the question is shown, so that other output ends its line.
    std::function<void()> before;
    // Called after the answer.
    std::function<void()> after{};
    // Gets the text typed before the question; empty = dropped.
    std::function<void(std::string)> keep;
    // QuestionPlace::withdrawn.
    std::function<bool()> withdrawn{};
  };
  explicit TerminalApprover(Place place) : place_(std::move(place)) {}
  PermissionAnswer ask(const SessionContext& session, const Tool& tool, const ToolCall& call,
                       const AskedBy& by) override;
  // Shows the server, its tool and its question, then asks for each value. A server whose questions the person does not
  // want is not shown again in this session.
  ElicitationAnswer elicit(const Elicitation& question, const CancelToken& cancel, Deadline deadline) override;

 private:
  PermissionAnswer answer(const SessionContext& session, const Tool& tool, const ToolCall& call, const AskedBy& by);

  Place place_;
  Mutex asking_;
  std::set<std::string> unheard_;  // servers whose questions are all declined
};

// Without a terminal: answers no to every question, with the way to change that.
class AbsentApprover final : public Approver {
 public:
  bool is_present() const override { return false; }
  PermissionAnswer ask(const SessionContext& session, const Tool& tool, const ToolCall& call,
                       const AskedBy& by) override;
};

// A TerminalApprover if `on_terminal` and the terminal can be opened, else an AbsentApprover. Sets
// `place.terminal`.
std::unique_ptr<Approver> make_approver(bool on_terminal, TerminalApprover::Place place);

}  // namespace agentd::app
