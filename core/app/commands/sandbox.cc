// SPDX-License-Identifier: Apache-2.0
// sandbox.cc - `agentd sandbox`: a command in the sandbox of tools, and what that sandbox allows.
#include <algorithm>

#include "core/app/commands/commands.h"
#include "core/app/commands/sandbox_here.h"
#include "core/app/exit_codes.h"
#include "core/app/signals.h"
#include "core/base/bytes.h"
#include "core/process/commands.h"

namespace agentd::app {
namespace {

constexpr int kExitNoSandbox = 125;
constexpr std::uint64_t kOutputMax = 64u << 20;  // that may wait to be shown
constexpr std::size_t kPieceMax = 64u << 10, kShownMax = 1u << 20;
constexpr std::uint64_t kSeconds = 600, kSecondsMax = 86'400;

Result<SandboxHere> here(const App& app, const Arguments& arguments) {
  AGENTD_TRY(Config config, app.config(arguments));
  return sandbox_here(app, std::move(config));
}

int code_of(const CommandState& state) {
  if (state.reason == EndReason::kTimedOut) return 124;
  return state.exit_code >= 0 ? state.exit_code : 128 + state.signal;
}

struct Ran {
  CommandState state;
  std::string output;  // its last part
};

// Shows the output as it comes.
Result<Ran> run_shown(App& app, CommandRequest request, const CancelToken& cancel) {
  CommandTable commands(std::make_shared<CommandReader>(app.clock()));  // shared with its commands
  AGENTD_TRY(const std::uint64_t handle, commands.start(std::move(request)));
  Ran out;
  for (std::uint64_t at = 0;;) {
    AGENTD_TRY(const CommandPiece piece, commands.read(handle, at, kPieceMax, cancel, Deadline{}));
    if (piece.first > at)
      app.err().line("agentd: " + with_commas(piece.first - at) + " bytes of output were not shown");
    app.out().print(piece.bytes);
    app.out().flush();
    out.output += piece.bytes;
    if (out.output.size() > 2 * kShownMax) out.output.erase(0, out.output.size() - kShownMax);
    at = piece.next;
    if (!piece.last() && !cancel.cancelled()) continue;
    AGENTD_TRY(out.state, cancel.cancelled() ? commands.end(handle) : Result<CommandState>(piece.state));
    return out;
  }
}

}  // namespace

int sandbox_run_command(App& app, const Arguments& arguments) {
  const auto seconds =
      arguments.has("timeout") ? parse_count("timeout", arguments.value("timeout")) : Result<std::uint64_t>(kSeconds);
  if (!seconds) return app.fail(kExitUsage, seconds.error().message);
  const auto at = here(app, arguments);
  if (!at) return app.fail(kExitUsage, at.error().message);
  CommandRequest command;
  command.time = Milliseconds(std::min(*seconds, kSecondsMax) * 1000);
  ProcessRequest& request = command.process;
  request.argv = arguments.words();
  request.cwd = at->cwd;
  request.output_bytes_max = kOutputMax;
  std::unique_ptr<cage::Cage> cage;
  CagedCommand caged;
  if (cage_is_off(at->config)) {
    app.err().print("agentd: warning: " + std::string(kCageOffText) + "\n");
  } else {
    auto opened = open_cage(*at);
    if (!opened) return app.fail(kExitNoSandbox, opened.error().message);
    cage = std::move(*opened);
    auto wrapped = cage->wrap(request.argv, request.cwd, clean_environment());
    if (!wrapped) return app.fail(kExitNoSandbox, wrapped.error().message);
    caged = std::move(*wrapped);
    request.argv = caged.argv;
    request.environment = caged.environment;
    for (const UniqueFd& each : caged.descriptors) request.pass.push_back(each.get());
  }
  SignalScope signals;  // a signal ends the command, and what it changed is undone
  const auto ran = run_shown(app, std::move(command), signals.next());
  const CagedCommand::After after =
      caged.finish ? caged.finish(ran ? ran->output : "", ran ? ran->state.exit_code : -1) : CagedCommand::After();
  for (const std::string& each : after.remarks) app.err().print("agentd: " + each + "\n");
  if (signals.caught() != 0) return signal_exit(signals.caught());
  if (!ran) return app.fail(kExitFailure, ran.error().message);
  const int code = code_of(ran->state);
  return after.undone && code == 0 ? 1 : code;
}

int sandbox_explain_command(App& app, const Arguments& arguments) {
  const auto at = here(app, arguments);
  if (!at) return app.fail(kExitUsage, at.error().message);
  std::string path = arguments.words()[0];
  if (!path.starts_with('/')) path = at->cwd + "/" + path;
  if (cage_is_off(at->config)) {
    app.out().print(path + ": all that you may: " + std::string(kCageOffText) + "\n");
    return kExitOk;
  }
  const auto cage = open_cage(*at);
  if (!cage) return app.fail(kExitNoSandbox, cage.error().message);
  const cage::Verdict verdict = (*cage)->explain(path);
  const char* const rights = verdict.writable ? "read and write" : verdict.readable ? "read only" : "nothing";
  app.out().print(path + ": " + rights + ": " + verdict.reason + "\n");
  return kExitOk;
}

}  // namespace agentd::app
