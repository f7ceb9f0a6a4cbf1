// SPDX-License-Identifier: Apache-2.0
#include "core/process/commands.h"

#include <signal.h>

#include <algorithm>
#include <utility>

#include "core/process/command.h"
#include "core/process/spawn.h"

namespace agentd {
namespace {

constexpr Milliseconds kEndTime{10'000};  // beyond the grace: for what a kill cannot end at once
constexpr std::string_view kTerminalType = "TERM=xterm-256color";

bool has_variable(const std::vector<std::string>& environment, std::string_view start) {
  return std::any_of(environment.begin(), environment.end(), [&](const auto& each) { return each.starts_with(start); });
}

// A command without input of its own reads nothing; with a terminal or a pipe the text is written once it runs.
Result<Child> start_child(const CommandRequest& request, const Terminal* terminal) {
  const ProcessRequest& process = request.process;
  SpawnRequest start{process.argv, process.environment, process.cwd};
  start.pass = process.pass;
  start.offspring = Offspring::kBranded;
  if (terminal != nullptr) {
    start.pipes = Pipes::kTerminal;
    start.terminal = terminal->device;
  } else if (request.takes_input) {
    start.pipes = Pipes::kTalk;
  } else {
    start.input = process.input;
  }
  return spawn(start);
}

// In place of a command that no sandbox can be made for: its output is the reason, which is more than a status can
// tell. Nothing of the command's goes into it, so that it needs no sandbox.
CagedCommand refusal(const std::string& why) {
  CagedCommand out;
  out.argv = {"/bin/sh", "-c", "printf '%s\\n' \"$1\" >&2; exit 125", "sh", why};
  out.environment = {"LC_ALL=C"};
  out.finish = [](std::string_view, int) { return CagedCommand::After(); };
  return out;
}

}  // namespace

CommandTable::~CommandTable() { (void)end_all(); }

// Every command of the session passes, run or started.
Result<CommandTable::Planned> CommandTable::plan(ProcessRequest request, CommandCage* cage) {
  AGENTD_TRY(request.environment, environment_of(request));
  request.additions.clear();
  AGENTD_TRY_VOID(check_command(request.argv, request.environment, request.cwd));
  Planned out{std::move(request), nullptr};
  if (cage == nullptr) return out;
  ProcessRequest& process = out.process;
  auto made = cage->wrap(process.argv, process.cwd, process.environment);
  if (!made && made.error().code == Code::kUnavailable) {
    const MutexLock lock(mutex_);
    keep_refusals({made.error().message});
    made = refusal(made.error().message);
  }
  AGENTD_TRY(CagedCommand caged, std::move(made));
  process.argv = std::move(caged.argv);
  process.environment = std::move(caged.environment);
  for (const UniqueFd& each : caged.descriptors) process.pass.push_back(each.get());
  out.caged = std::make_shared<CagedCommand>(std::move(caged));
  return out;
}

Result<ProcessResult> CommandTable::run(CommandRequest request, const CancelToken& cancel, Deadline deadline) {
  AGENTD_TRY(const Planned planned, plan(std::move(request.process), request.cage.get()));
  Result<ProcessResult> out = run_process(planned.process, reader_->clock(), cancel, deadline);
  if (!planned.caged) return out;
  const CagedCommand::After after =
      out ? planned.caged->finish(out->output, out->exit_code) : planned.caged->finish({}, -1);
  {
    const MutexLock lock(mutex_);
    keep_refusals(after.remarks);
  }
  if (!out) return out;
  out->output += remarks_behind(after, out->output.empty() || out->output.ends_with('\n'));
  if (after.undone && out->exit_code == 0) out->exit_code = 1;
  return out;
}

void CommandTable::keep_refusals(std::vector<std::string> refusals) {
  for (std::string& each : refusals) refusals_.push_back(std::move(each));
  if (refusals_.size() > kRefusalsMax)
    refusals_.erase(refusals_.begin(), refusals_.end() - static_cast<std::ptrdiff_t>(kRefusalsMax));
}

std::vector<std::string> CommandTable::take_refusals() {
  const MutexLock lock(mutex_);
  for (const auto& [handle, command] : commands_) keep_refusals(command->take_remarks());
  return std::exchange(refusals_, {});
}

// The oldest that have ended go.
Result<void> CommandTable::admit() {
  std::vector<std::uint64_t> ended;
  for (const auto& [handle, command] : commands_)
    if (command->ended()) ended.push_back(handle);
  if (commands_.size() - ended.size() + starting_ >= kRunningMax)
    return Error{Code::kBusy, "the session runs " + std::to_string(kRunningMax) +
                                  " commands, the most that it may: end one, or wait until one has ended"};
  for (std::size_t i = 0; i + kEndedMax < ended.size() + 1; ++i) {
    keep_refusals(commands_.at(ended[i])->take_remarks());
    commands_.erase(ended[i]);
  }
  return {};
}

Result<std::uint64_t> CommandTable::start(CommandRequest request) {
  AGENTD_TRY_VOID(reader_->prepare());
  const std::vector<std::string> argv = request.process.argv;
  if (request.terminal && (request.terminal->rows == 0 || request.terminal->columns == 0))
    return Error{Code::kInvalid, "a terminal has at least one row and one column"};
  AGENTD_TRY(Planned planned, plan(std::move(request.process), request.cage.get()));
  request.process = std::move(planned.process);
  if (request.terminal && !has_variable(request.process.environment, "TERM="))
    request.process.environment.emplace_back(kTerminalType);
  {
    const MutexLock lock(mutex_);
    AGENTD_TRY_VOID(admit());
    ++starting_;
  }
  const std::uint64_t started_ns = reader_->clock().monotonic_ns();
  Terminal terminal;
  auto child = [&]() -> Result<Child> {
    if (request.terminal) {
      AGENTD_TRY(terminal, make_terminal(*request.terminal));
    }
    return start_child(request, request.terminal ? &terminal : nullptr);
  }();
  const std::string input = request.terminal || request.takes_input ? std::move(request.process.input) : std::string();
  request.process.argv = argv;  // as it is listed, without the cage
  std::shared_ptr<Command> command;
  {
    const MutexLock lock(mutex_);
    --starting_;
  }
  if (planned.caged) planned.caged->descriptors.clear();
  if (!child) {
    if (planned.caged) (void)planned.caged->finish({}, -1);
    return child.error();
  }
  {
    const MutexLock lock(mutex_);
    command = std::make_shared<Command>(++last_handle_, std::move(request), std::move(*child), std::move(terminal.host),
                                        std::move(planned.caged), reader_->clock(), started_ns);
    commands_.emplace(command->handle(), command);
  }
  reader_->add(command);
  if (!input.empty())
    (void)command->write(input, false, CancelToken(), Deadline::after(reader_->clock(), Milliseconds(1'000)));
  return command->handle();
}

Result<std::shared_ptr<Command>> CommandTable::find(std::uint64_t handle) const {
  const MutexLock lock(mutex_);
  const auto found = commands_.find(handle);
  if (found != commands_.end()) return found->second;
  return Error{Code::kNotFound, "the session has no command " + std::to_string(handle) +
                                    (handle >= 1 && handle <= last_handle_ ? ": it ended long ago" : "")};
}

Result<CommandPiece> CommandTable::read(std::uint64_t handle, std::uint64_t position, std::size_t bytes_max,
                                        const CancelToken& cancel, Deadline deadline) {
  AGENTD_TRY(const auto command, find(handle));
  return command->read(position, bytes_max, cancel, deadline);
}

Result<void> CommandTable::write(std::uint64_t handle, std::string_view bytes, bool close, const CancelToken& cancel,
                                 Deadline deadline) {
  AGENTD_TRY(const auto command, find(handle));
  return command->write(bytes, close, cancel, deadline);
}

Result<void> CommandTable::signal(std::uint64_t handle, int number) {
  AGENTD_TRY(const auto command, find(handle));
  if (number != SIGKILL) return command->signal(number);
  AGENTD_TRY_VOID(command->signal(SIGCONT));  // an error if it has ended
  command->wish_end(EndReason::kEnded, Milliseconds(0));
  reader_->wake();
  return {};
}

Result<CommandState> CommandTable::wait(std::uint64_t handle, const CancelToken& cancel, Deadline deadline) {
  AGENTD_TRY(const auto command, find(handle));
  return command->wait(cancel, deadline);
}

Result<CommandState> CommandTable::end(std::uint64_t handle) {
  AGENTD_TRY(const auto command, find(handle));
  command->wish_end(EndReason::kEnded, command->grace());
  reader_->wake();
  return command->wait({}, Deadline::after(reader_->clock(), command->grace() + kEndTime));
}

Result<void> CommandTable::resize(std::uint64_t handle, TerminalSize size) {
  AGENTD_TRY(const auto command, find(handle));
  return command->resize(size);
}

std::vector<CommandState> CommandTable::list() {
  const MutexLock lock(mutex_);
  std::vector<CommandState> out;
  for (const auto& [handle, command] : commands_) out.push_back(command->state());
  return out;
}

std::vector<CommandState> CommandTable::end_all() {
  std::vector<std::shared_ptr<Command>> running;
  {
    const MutexLock lock(mutex_);
    for (const auto& [handle, command] : commands_)
      if (!command->ended()) running.push_back(command);
  }
  for (const auto& command : running) command->wish_end(EndReason::kSessionEnded, command->grace());
  if (!running.empty()) reader_->wake();
  std::vector<CommandState> out;
  for (const auto& command : running)
    out.push_back(command->wait({}, Deadline::after(reader_->clock(), command->grace() + kEndTime)));
  return out;
}

}  // namespace agentd
