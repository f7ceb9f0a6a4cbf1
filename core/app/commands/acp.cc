// SPDX-License-Identifier: Apache-2.0
// acp.cc - acp: an agent for editors, over standard input and output.
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "core/acp/door.h"
#include "core/app/app.h"
#include "core/app/commands/commands.h"
#include "core/app/exit_codes.h"
#include "core/app/signals.h"
#include "core/runtime/version.h"

namespace agentd::app {
namespace {

// Standard output for the protocol alone: what hooks, plugins and their children print goes to standard error.
Result<UniqueFd> take_output() {
  UniqueFd out(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3));
  if (!out.valid() || ::dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
    return Error{Code::kUnavailable, std::string("standard output cannot be used: ") + ::strerror(errno)};
  return out;
}

}  // namespace

int acp_command(App& app, const Arguments& arguments) {
  const Result<Config> config = app.config(arguments);
  if (!config) return app.fail(kExitUsage, config.error().message);
  if (app.surroundings().input_tty)
    return app.fail(kExitUsage,
                    "acp speaks with an editor over standard input and output, and this is a terminal: name 'agentd "
                    "acp' as an agent in the settings of your editor, or use: agentd chat");
  const auto out = take_output();
  if (!out) return app.fail(kExitFailure, out.error().message);
  SignalScope signals;
  const CancelToken cancel = signals.next();
  const Warn warn = [&app](const std::string& text) {
    app.err().line("agentd: " + text);
    app.err().flush();
  };
  acp::Wire wire(app.surroundings().input, out->get(), app.clock());
  acp::DoorOptions options;
  options.version = AGENTD_VERSION;
  options.hooks.hooks = !arguments.has("no-hooks");
  acp::Door door(app.surroundings(), *config, app.clock(), wire, std::move(options), warn);
  door.serve(cancel);
  return signals.caught() == 0 ? static_cast<int>(kExitOk) : signal_exit(signals.caught());
}

}  // namespace agentd::app
