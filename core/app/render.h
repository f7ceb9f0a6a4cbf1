// SPDX-License-Identifier: Apache-2.0
#pragma once
// render.h - shows the events of a run on a terminal, as JSON lines, or as the final answer only.
//
// The model's text goes to standard output, everything else to standard error: `agentd run ... > file` holds the
// answer. A terminal shows it as it arrives; elsewhere an answer is printed once it is complete, as what is printed
// there cannot be taken back when an interrupted answer is requested again. Text of models, tools and hooks is
// sanitized before it is shown.
//
// Threading: called on the run's thread.

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "core/agent/events.h"
#include "core/app/terminal.h"

namespace agentd::app {

// A text that waits to be printed. It grows in pieces, so that it takes little more than its own size.
class WaitingText {
 public:
  bool empty() const { return pieces_.empty(); }
  void add(std::string_view text);
  // Prints the text, which is gone afterwards.
  void print(Output& out);
  void clear() { pieces_.clear(); }

 private:
  std::deque<std::string> pieces_;
};

class TerminalRenderer final : public EventSink {
 public:
  TerminalRenderer(Output& out, Output& err, bool trace_hooks);
  void on_event(const RunEvent& event) override;
  // Ends lines and waiting; also done at the end of a run.
  void settle();
  // The started call now runs: its time is shown from here on.
  void resume();

 private:
  // One for each kind. `depth`: of the agent whose it is; 0 = the user's.
  void show(const told::UserMessage&, std::uint32_t) {}
  void show(const told::ThinkingDelta&, std::uint32_t) {}
  void show(const told::RunStarted& event, std::uint32_t depth);
  void show(const told::TurnStarted& event, std::uint32_t depth);
  void show(const told::TextDelta& event, std::uint32_t depth);
  void show(const told::AnswerAgain& event, std::uint32_t depth);
  void show(const told::ToolCalled& event, std::uint32_t depth);
  void show(const told::ToolEnded& event, std::uint32_t depth);
  void show(const told::PlanChanged& event, std::uint32_t depth);
  void show(const told::Waiting& event, std::uint32_t depth);
  void show(const told::TurnEnded& event, std::uint32_t depth);
  void show(const told::HookAnswered& event, std::uint32_t depth);
  void show(const told::HookConflict& event, std::uint32_t depth);
  void show(const told::HookFailed& event, std::uint32_t depth);
  void show(const told::Status& event, std::uint32_t depth);
  void show(const told::Compacted& event, std::uint32_t depth);
  void show(const told::CompactionEnded& event, std::uint32_t depth);
  void show(const told::CompactionUndone& event, std::uint32_t depth);
  void show(const told::Notice& event, std::uint32_t depth);
  void show(const told::Warning& event, std::uint32_t depth);
  void show(const told::Failed& event, std::uint32_t depth);
  void show(const told::RunEnded& event, std::uint32_t depth);
  // Prints a line on standard error, after ending an open line.
  void note(std::string_view sgr, std::string_view line);
  void end_lines();
  // The answer so far is all of it.
  void finish_answer();

  Output& out_;
  Output& err_;
  const bool trace_hooks_;
  Neutralizer answer_;
  // Without a terminal: the answer so far, and the last part that an interruption has made void.
  WaitingText waiting_, half_;
  bool in_run_ = false;                       // outside of a run the command that compacts tells how that ended
  std::string plan_;                          // as it was shown last
  std::string open_call_;                     // the tool call whose line is open
  std::map<std::string, std::string> calls_;  // those that have no result yet, with a summary of their input
  // The last started tool call, until it has a result.
  struct RunningCall {
    std::string id, name;
    Progress::Time since;
  };
  std::optional<RunningCall> running_;
  Progress progress_;
};

// One JSON object per line.
class JsonRenderer final : public EventSink {
 public:
  explicit JsonRenderer(Output& out) : out_(out) {}
  void on_event(const RunEvent& event) override;

 private:
  Output& out_;
};

// Ends the run when the reader of standard output has exited, as with "| head", so that no further request or tool
// call is made for it. Checked at each write, and before each request and tool call.
class ReaderWatch final : public EventSink {
 public:
  // `leave` is called once. All outlive this.
  ReaderWatch(EventSink& shown, const Output& out, std::function<void()> leave)
      : shown_(shown), out_(out), leave_(std::move(leave)) {}
  void on_event(const RunEvent& event) override;

 private:
  EventSink& shown_;
  const Output& out_;
  const std::function<void()> leave_;
  bool left_ = false;
};

// Only warnings, on standard error.
class QuietRenderer final : public EventSink {
 public:
  explicit QuietRenderer(Output& err) : err_(err) {}
  void on_event(const RunEvent& event) override;

 private:
  Output& err_;
};

// A tool call for people: its most important value ("ls -la"), or its JSON.
std::string call_summary(std::string_view input_json);

}  // namespace agentd::app
