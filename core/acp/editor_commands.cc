// SPDX-License-Identifier: Apache-2.0
#include "core/acp/editor_commands.h"

#include <agentd/hook_types.h>
#include <algorithm>

#include <csignal>
#include <system_error>
#include <utility>

#include "core/acp/tool_calls.h"

namespace agentd::acp {
namespace {

constexpr Milliseconds kOutputSlice{200};  // between two looks at a command's output
constexpr int kNotBegun = 125;
constexpr Milliseconds kOpenTime{60'000};  // an editor may ask its person first
constexpr Milliseconds kEndTime{10'000};

ProcessResult refused(std::string why) {
  ProcessResult out;
  out.exit_code = kNotBegun;
  out.reason = EndReason::kExited;
  out.output = std::move(why) + "\n";
  out.output_bytes = out.output.size();
  return out;
}

Error unknown(std::uint64_t handle) {
  return {Code::kNotFound, "the session has no command " + std::to_string(handle)};
}

}  // namespace

// A command with the thread that waits for its end, or ends it when its time is over.
struct EditorCommands::Started {
  Started(std::uint64_t number, std::unique_ptr<EditorTerminal> of, const Clock& clock)
      : handle(number), terminal(std::move(of)), watch([this, &clock] { wait_for_end(clock); }) {}
  ~Started() {
    leaves.cancel(AGENTD_CANCEL_USER);
    watch.join();
  }
  Started(const Started&) = delete;
  Started& operator=(const Started&) = delete;

  void wait_for_end(const Clock& clock) {
    const Milliseconds time = terminal->request().time;
    const Deadline deadline = time.count() == 0 ? Deadline() : Deadline::after(clock, time);
    if (!terminal->wait(leaves, deadline))
      terminal->end(leaves.cancelled() ? EndReason::kSessionEnded : EndReason::kTimedOut);
    terminal->look();
    terminal->release();
    const MutexLock lock(mutex);
    done = true;
    changed.notify_all();
  }

  bool ended() const {
    const MutexLock lock(mutex);
    return done;
  }
  // It has ended once all of its output is there.
  CommandState state() const {
    CommandState out = terminal->state();
    out.handle = handle;
    if (!out.ended() || ended()) return out;
    out.phase = CommandState::Phase::kEnding;
    out.reason = EndReason::kNone;
    return out;
  }

  void wait(const CancelToken& cancel, Deadline deadline, const Clock& clock) {
    const MutexLock lock(mutex);
    while (!done && !cancel.cancelled() && !deadline.passed(clock))
      changed.wait_for(mutex, clock, std::clamp(deadline.left(clock), Milliseconds(1), kOutputSlice));
  }

  CommandPiece read(std::uint64_t position, std::size_t most, const CancelToken& cancel, Deadline deadline,
                    const Clock& clock) {
    const bool goes_on = position == kUnread;
    CommandPiece out;
    for (;;) {
      out.state = state();
      if (!out.state.ended()) terminal->look();
      const MutexLock lock(mutex);
      auto part = terminal->output(goes_on ? unread : position, most);
      const bool last = out.state.ended() || cancel.cancelled() || deadline.passed(clock);
      if (part.bytes.empty() && !last) {
        changed.wait_for(mutex, clock, std::clamp(deadline.left(clock), Milliseconds(1), kOutputSlice));
        continue;
      }
      // A word that is cut in two is not recognised as a secret in either piece.
      const std::size_t line_end = part.bytes.rfind('\n');
      if (goes_on && part.first + part.bytes.size() < out.state.output_bytes && line_end != std::string::npos)
        part.bytes.resize(line_end + 1);
      out.first = part.first;
      out.next = part.first + part.bytes.size();
      out.bytes = std::move(part.bytes);
      if (goes_on) unread = out.next;
      return out;
    }
  }

  const std::uint64_t handle;
  const std::unique_ptr<EditorTerminal> terminal;
  const CancelToken leaves;
  mutable Mutex mutex;
  Condition changed;
  bool done GUARDED_BY(mutex) = false;         // its end, and all that comes with it
  std::uint64_t unread GUARDED_BY(mutex) = 0;  // of its output
  Thread watch;                                // last: it uses the rest
};

EditorCommands::~EditorCommands() { (void)end_all(); }

void EditorCommands::set_session(std::string id) {
  const MutexLock lock(mutex_);
  session_ = std::move(id);
}

// ---- tool calls

void EditorCommands::calling(std::string_view call_id, std::string_view tool, std::string_view input) {
  const auto document = tool == "bash" ? JsonDocument::parse(input) : Result<JsonDocument>(Error{Code::kInvalid, {}});
  if (!document) return;
  const MutexLock lock(mutex_);
  std::erase_if(calls_, [&](const Call& each) { return each.id == call_id; });  // it goes on
  calls_.push_back({std::string(call_id), std::string(document->root()["command"].string_or("")), {}});
}

void EditorCommands::forget_calls() {
  const MutexLock lock(mutex_);
  calls_.clear();
}

std::string EditorCommands::called(std::string_view call_id) {
  const MutexLock lock(mutex_);
  const auto found = std::find_if(calls_.begin(), calls_.end(), [&](const Call& each) { return each.id == call_id; });
  if (found == calls_.end()) return {};
  std::string out = std::move(found->terminal);
  calls_.erase(found);
  return out;
}

// The call is the one whose command it runs; of several, any: they show the same. A command that a hook has rewritten
// is that of the only call.
Result<std::unique_ptr<EditorTerminal>> EditorCommands::open(CommandRequest request, const CancelToken& cancel,
                                                             Deadline deadline) {
  std::string session;
  {
    const MutexLock lock(mutex_);
    session = session_;
  }
  AGENTD_TRY(auto terminal, EditorTerminal::start(wire_, session, std::move(request), clock_, cancel, deadline));
  const std::string& command = terminal->request().process.argv.back();
  std::string call;
  {
    const MutexLock lock(mutex_);
    const auto waits = [](const Call& each) { return each.terminal.empty(); };
    const bool only = std::count_if(calls_.begin(), calls_.end(), waits) == 1;
    const auto found = std::find_if(calls_.begin(), calls_.end(),
                                    [&](const Call& each) { return waits(each) && (only || each.command == command); });
    if (found == calls_.end()) return terminal;
    found->terminal = terminal->id();
    call = found->id;
  }
  JsonWriter out;
  out.begin_object().member("sessionId", session).key("update").begin_object();
  out.member("sessionUpdate", "tool_call_update").member("toolCallId", call);
  write_terminal(out, terminal->id());
  out.end_object().end_object();
  wire_.notify("session/update", out.text());
  return terminal;
}

// ---- commands

Result<ProcessResult> EditorCommands::run(CommandRequest request, const CancelToken& cancel, Deadline deadline) {
  auto opened = open(std::move(request), cancel, deadline);
  // The reason is the output of a command that could not begin: more than a status can tell.
  if (!opened && opened.error().code == Code::kUnavailable) return refused(opened.error().message);
  AGENTD_TRY(const auto terminal, std::move(opened));
  if (!terminal->wait(cancel, deadline))
    terminal->end(cancel.cancelled() ? EndReason::kCancelled : EndReason::kTimedOut);
  terminal->look();
  terminal->release();
  return terminal->result();
}

Result<void> EditorCommands::admit() {
  std::size_t running = 0;
  for (const auto& [handle, each] : started_) running += each->ended() ? 0u : 1u;
  if (running >= kRunningMax)
    return Error{Code::kBusy, std::to_string(running) + " commands of the session run: end one first"};
  for (auto each = started_.begin(); each != started_.end() && started_.size() - running >= kEndedMax;)
    each = each->second->ended() ? started_.erase(each) : std::next(each);
  return {};
}

Result<std::uint64_t> EditorCommands::start(CommandRequest request) {
  {
    const MutexLock lock(mutex_);
    AGENTD_TRY_VOID(admit());
  }
  AGENTD_TRY(auto terminal, open(std::move(request), CancelToken(), Deadline::after(clock_, kOpenTime)));
  const MutexLock lock(mutex_);
  const std::uint64_t handle = ++last_handle_;
  try {
    started_.emplace(handle, std::make_shared<Started>(handle, std::move(terminal), clock_));
  } catch (const std::system_error&) {
    return Error{Code::kUnavailable, "the system allows agentd no more threads"};
  }
  return handle;
}

Result<std::shared_ptr<EditorCommands::Started>> EditorCommands::find(std::uint64_t handle) const {
  const MutexLock lock(mutex_);
  const auto found = started_.find(handle);
  if (found == started_.end()) return unknown(handle);
  return found->second;
}

Result<CommandPiece> EditorCommands::read(std::uint64_t handle, std::uint64_t position, std::size_t bytes_max,
                                          const CancelToken& cancel, Deadline deadline) {
  AGENTD_TRY(const auto found, find(handle));
  return found->read(position, bytes_max, cancel, deadline, clock_);
}

Result<void> EditorCommands::write(std::uint64_t handle, std::string_view, bool, const CancelToken&, Deadline) {
  AGENTD_TRY_VOID(find(handle));
  return Error{Code::kInvalid, "a command in a terminal of the editor gets no input from agentd"};
}

Result<void> EditorCommands::signal(std::uint64_t handle, int number) {
  AGENTD_TRY(const auto found, find(handle));
  if (number != SIGKILL && number != SIGTERM && number != SIGINT && number != SIGHUP)
    return Error{Code::kInvalid, "an editor can only end a command"};
  if (found->state().ended()) return Error{Code::kUnavailable, "the command has ended"};
  found->terminal->end(EndReason::kSignalled);
  return {};
}

Result<CommandState> EditorCommands::wait(std::uint64_t handle, const CancelToken& cancel, Deadline deadline) {
  AGENTD_TRY(const auto found, find(handle));
  found->wait(cancel, deadline, clock_);
  return found->state();
}

Result<CommandState> EditorCommands::end(std::uint64_t handle) {
  AGENTD_TRY(const auto found, find(handle));
  found->terminal->end(EndReason::kEnded);
  found->wait({}, Deadline::after(clock_, kEndTime), clock_);
  return found->state();
}

Result<void> EditorCommands::resize(std::uint64_t handle, TerminalSize) {
  AGENTD_TRY_VOID(find(handle));
  return Error{Code::kInvalid, "the editor decides on the size of its terminals"};
}

std::vector<CommandState> EditorCommands::list() {
  const MutexLock lock(mutex_);
  std::vector<CommandState> out;
  for (const auto& [handle, each] : started_) out.push_back(each->state());
  return out;
}

std::vector<CommandState> EditorCommands::end_all() {
  std::map<std::uint64_t, std::shared_ptr<Started>> all;
  {
    const MutexLock lock(mutex_);
    all.swap(started_);
  }
  std::vector<CommandState> out;
  for (const auto& [handle, each] : all) {
    if (each->state().ended()) continue;
    each->terminal->end(EndReason::kSessionEnded);
    out.push_back(each->state());
  }
  return out;
}

}  // namespace agentd::acp
