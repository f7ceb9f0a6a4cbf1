// SPDX-License-Identifier: Apache-2.0
// acp.cc - acp: an agent for editors, over standard input and output.
#include <csignal>

#include "core/acp/door.h"
#include "core/app/app.h"
#include "core/app/commands/commands.h"
#include "core/app/commands/protocol_output.h"
#include "core/app/exit_codes.h"
#include "core/app/signals.h"
#include "core/runtime/version.h"

namespace agentd::app {

int acp_command(App& app, const Arguments& arguments) {
  const Result<Config> config = app.config(arguments);
  if (!config) return app.fail(kExitUsage, config.error().message);
  if (app.surroundings().input_tty)
    return app.fail(kExitUsage,
                    "acp speaks with an editor over standard input and output, and this is a terminal: name 'agentd "
                    "acp' as an agent in the settings of your editor, or use: agentd chat");
  const auto out = take_protocol_output();
  if (!out) return app.fail(kExitFailure, out.error().message);
  SignalScope signals;
  const CancelToken cancel = signals.next();
  const Warn warn = [&app](const std::string& text) {
    app.err().line("agentd: " + text);
    app.err().flush();
  };
  RpcWire wire(app.surroundings().input, out->get(), app.clock());
  acp::DoorOptions options;
  options.version = AGENTD_VERSION;
  options.hooks.hooks = !arguments.has("no-hooks");
  acp::Door door(app.surroundings(), *config, app.clock(), wire, std::move(options), warn);
  door.serve(cancel);
  return signals.caught() == 0 ? static_cast<int>(kExitOk) : signal_exit(signals.caught());
}

}  // namespace agentd::app
