// SPDX-License-Identifier: Apache-2.0
#include "core/acp/editor_terminal.h"

#include <agentd/hook_types.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "core/base/bytes.h"
#include "core/process/fork.h"

namespace agentd::acp {
namespace {

constexpr std::uint64_t kKeptBytes = 8u << 20;      // of its output, by the editor
constexpr std::size_t kSeamBytes = 4096;            // by which two looks are joined
constexpr std::size_t kLineBytes = 400;             // of the command as it is listed
constexpr Milliseconds kTerminalAnswerTime{3'000};  // of the editor
constexpr std::uint64_t kExitCodes = 1u << 16;      // below it
constexpr Milliseconds kCancelSlice{50};            // how often a cancel word is checked
constexpr int kSignals = 64;

std::string line_of(const std::vector<std::string>& argv) { return one_line(join(argv, " "), kLineBytes); }

// "SIGTERM", "TERM" or "15"; another text is the signal that nothing survives.
int signal_of(std::string_view name) {
  for (int each = 1; each <= kSignals; ++each)
    if (const std::string known = signal_name(each);
        name == known || "SIG" + std::string(name) == known || name == std::to_string(each))
      return each;
  return SIGKILL;
}

void write_variables(JsonWriter& out, const std::vector<std::string>& variables) {
  out.key("env").begin_array();
  for (const std::string& each : variables) {
    const std::size_t equals = each.find('=');
    out.begin_object().member("name", std::string_view(each).substr(0, equals));
    out.member("value", std::string_view(each).substr(equals + 1)).end_object();
  }
  out.end_array();
}

// The part of `now` behind `before`, where the editor drops the beginning of a long output.
std::string_view added(std::string_view before, std::string_view now) {
  if (now.starts_with(before)) return now.substr(before.size());
  const std::string_view seam = before.substr(before.size() - std::min(before.size(), kSeamBytes));
  const std::size_t at = seam.empty() ? std::string_view::npos : now.rfind(seam);
  return at == std::string_view::npos ? now : now.substr(at + seam.size());
}

std::string params_of(std::string_view session, std::string_view terminal) {
  JsonWriter out;
  out.begin_object().member("sessionId", session).member("terminalId", terminal).end_object();
  return std::string(out.text());
}

}  // namespace

Result<std::unique_ptr<EditorTerminal>> EditorTerminal::start(RpcWire& wire, const std::string& session,
                                                              CommandRequest request, const Clock& clock,
                                                              const CancelToken& cancel, Deadline deadline) {
  const ProcessRequest& process = request.process;
  if (process.argv.empty()) return Error{Code::kInvalid, "a command needs a program"};
  if (!process.input.empty() || request.takes_input)
    return Error{Code::kInvalid, "a command in a terminal of the editor gets no input from agentd"};
  AGENTD_TRY(const std::vector<std::string> variables, environment_with(process.environment, process.additions));
  JsonWriter out;
  out.begin_object().member("sessionId", session).member("command", process.argv.front());
  out.key("args").begin_array();
  for (auto each = process.argv.begin() + 1; each != process.argv.end(); ++each) out.string(*each);
  out.end_array();
  write_variables(out, variables);
  if (!process.cwd.empty()) out.member("cwd", process.cwd);
  out.member("outputByteLimit", kKeptBytes).end_object();
  // A terminal for which no command waits any more.
  const auto end_late = [&wire, session](JsonView result) {
    const std::string named = params_of(session, result["terminalId"].string_or(""));
    wire.order("terminal/kill", named);
    wire.order("terminal/release", named);
  };
  const auto made = wire.ask("terminal/create", out.text(), {.cancel = cancel, .deadline = deadline, .late = end_late});
  if (!made && cancel.cancelled()) return Error{Code::kCancelled, "cancelled"};
  if (!made)
    return Error{Code::kUnavailable, "the editor has opened no terminal: " + one_line(made.error().message, 300)};
  const JsonView id = (*made)->root()["result"]["terminalId"];
  if (!id.is_string()) return Error{Code::kUnavailable, "the editor has opened a terminal without an id"};
  return std::unique_ptr<EditorTerminal>(
      new EditorTerminal(wire, session, std::string(id.string_or("")), std::move(request), clock));
}

EditorTerminal::EditorTerminal(RpcWire& wire, std::string session, std::string id, CommandRequest request,
                               const Clock& clock)
    : wire_(wire),
      clock_(clock),
      session_(std::move(session)),
      id_(std::move(id)),
      request_(std::move(request)),
      started_ns_(clock.monotonic_ns()),
      text_(request_.process.output_bytes_max, request_.process.spill) {}

EditorTerminal::~EditorTerminal() { release(); }

Deadline EditorTerminal::soon() const { return Deadline::after(clock_, kTerminalAnswerTime); }

RpcWire::Answer EditorTerminal::ask(std::string_view method, const RpcWire::Patience& patience) const {
  return wire_.ask(method, params_of(session_, id_), patience);
}

void EditorTerminal::order(std::string_view method) const { wire_.order(method, params_of(session_, id_)); }

// ---- its end

void EditorTerminal::ended(EndReason reason, JsonView status) {
  const MutexLock lock(mutex_);
  if (reason_ != EndReason::kNone) return;
  const std::uint64_t code = status["exitCode"].uint_or(kExitCodes);
  if (const std::string_view signal = status["signal"].string_or(""); !signal.empty())
    signal_ = signal_of(signal);
  else if (code < kExitCodes)
    exit_code_ = static_cast<int>(code);
  reason_ = wished_.value_or(reason);
  if (reason_ == EndReason::kExited && signal_ != 0) reason_ = EndReason::kSignalled;
  ended_ns_ = clock_.monotonic_ns();
  over_.cancel(AGENTD_CANCEL_USER);
}

// False: it has ended, or the deadline or the cancel came first.
bool EditorTerminal::begin_wait(const CancelToken& cancel, Deadline deadline) {
  const MutexLock lock(mutex_);
  while (reason_ == EndReason::kNone && waits_) {
    if (cancel.cancelled() || deadline.passed(clock_)) return false;
    changed_.wait_for(mutex_, clock_, std::clamp(deadline.left(clock_), Milliseconds(1), kCancelSlice));
  }
  if (reason_ != EndReason::kNone) return false;
  waits_ = true;
  return true;
}

void EditorTerminal::end_wait() {
  const MutexLock lock(mutex_);
  waits_ = false;
  changed_.notify_all();
}

bool EditorTerminal::wait(const CancelToken& cancel, Deadline deadline) {
  if (!begin_wait(cancel, deadline)) return state().ended();
  const auto answer = ask("terminal/wait_for_exit", {.cancel = cancel, .also = over_, .deadline = deadline});
  if (answer) {
    ended(EndReason::kExited, (*answer)->root()["result"]);
  } else if (wire_.is_gone()) {
    ended(EndReason::kSessionEnded, {});
  } else if (!cancel.cancelled() && !over_.cancelled() && !deadline.passed(clock_)) {
    note("[the editor has closed the terminal]\n");
    ended(EndReason::kEnded, {});
  }
  end_wait();
  return state().ended();
}

void EditorTerminal::end(EndReason reason) {
  {
    const MutexLock lock(mutex_);
    if (reason_ != EndReason::kNone) return;
    if (!wished_) wished_ = reason;
  }
  order("terminal/kill");
  if (!wait(CancelToken(), soon())) ended(reason, {});
}

void EditorTerminal::release() {
  {
    const MutexLock lock(mutex_);
    if (std::exchange(released_, true)) return;
    std::string().swap(shown_);
  }
  order("terminal/release");
  ended(EndReason::kSessionEnded, {});
}

// ---- its output

void EditorTerminal::look() {
  {
    const MutexLock lock(mutex_);
    if (released_) return;
  }
  const auto answer = ask("terminal/output", {.deadline = soon()});
  if (!answer) return note("[the editor has not given the output: " + one_line(answer.error().message, 100) + "]\n");
  const JsonView result = (*answer)->root()["result"];
  std::string_view now = result["output"].string_or("");
  now.remove_prefix(now.size() - std::min<std::size_t>(now.size(), 2 * kKeptBytes));
  {
    const MutexLock lock(mutex_);
    const std::string_view more = added(shown_, now);
    if (result["truncated"].bool_or(false) && more.size() == now.size() && !now.empty())
      text_.append("[the editor has kept the end of the output alone]\n");
    text_.append(more);
    shown_ = now;
  }
  if (result["exitStatus"].is_object()) ended(EndReason::kExited, result["exitStatus"]);
}

// A line in the output, once.
void EditorTerminal::note(const std::string& line) {
  const MutexLock lock(mutex_);
  if (!std::exchange(noted_, true)) text_.append(line);
}

BoundedOutput::Part EditorTerminal::output(std::uint64_t position, std::size_t most) const {
  const MutexLock lock(mutex_);
  return text_.from(position, most);
}

CommandState EditorTerminal::state() const {
  const MutexLock lock(mutex_);
  CommandState out;
  out.phase = reason_ != EndReason::kNone ? CommandState::Phase::kEnded
              : wished_                   ? CommandState::Phase::kEnding
                                          : CommandState::Phase::kRunning;
  out.reason = reason_;
  out.exit_code = exit_code_;
  out.signal = signal_;
  out.output_bytes = text_.total();
  out.spill_path = text_.spill_path();
  out.spill_bytes = text_.spill_bytes();
  out.spill_full = text_.spill_full();
  out.has_terminal = true;
  const std::uint64_t until = ended_ns_ == 0 ? clock_.monotonic_ns() : ended_ns_;
  out.duration = std::chrono::duration_cast<Milliseconds>(std::chrono::nanoseconds(until - started_ns_));
  out.command = line_of(request_.process.argv);
  out.description = request_.description;
  return out;
}

ProcessResult EditorTerminal::result() const {
  const CommandState state = this->state();
  const MutexLock lock(mutex_);
  ProcessResult out;
  out.exit_code = state.exit_code;
  out.signal = state.signal;
  out.reason = state.reason;
  out.timed_out = state.reason == EndReason::kTimedOut;
  out.cancelled = state.reason == EndReason::kCancelled;
  out.truncated = text_.truncated();
  out.output = text_.text();
  out.output_bytes = state.output_bytes;
  if (out.truncated) out.spill_path = state.spill_path;
  out.spill_bytes = state.spill_bytes;
  out.duration = state.duration;
  return out;
}

}  // namespace agentd::acp
