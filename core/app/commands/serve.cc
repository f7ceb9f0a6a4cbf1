// SPDX-License-Identifier: Apache-2.0
// serve.cc - serve: the daemon.
#include <csignal>

#include "core/app/app.h"
#include "core/app/commands/commands.h"
#include "core/app/exit_codes.h"
#include "core/app/failure.h"
#include "core/app/signals.h"
#include "core/cage/layers.h"
#include "core/cage/places.h"
#include "core/runtime/runtime.h"
#include "core/runtime/version.h"
#include "core/serve/daemon.h"
#include "core/serve/service_manager.h"
#include "core/workplace/cage_setup.h"

namespace agentd::app {
namespace {

// Why commands have no sandbox on this machine; empty = they have one.
std::string uncaged(const App& app, const Config& config) {
  if (cage_is_off(config)) return "sandbox.layer is off";
  const auto settings = cage_settings(app.surroundings(), config, app.home().value_or(""), {"/"}, {});
  const cage::Layers& layers = cage::probe(settings.helper);
  const auto layer = cage_layer(config, layers);
  return layer ? std::string() : layer.error().message;
}

Result<serve::DaemonOptions> options_of(App& app, const Arguments& arguments, const Config& config,
                                        const std::string& home) {
  serve::DaemonOptions out;
  out.version = AGENTD_VERSION;
  out.program = app.surroundings().executable;
  out.hooks.hooks = !arguments.has("no-hooks");
  out.http.inherited = serve::take_sockets(app.surroundings().environment);
  if (out.http.inherited.empty()) {
    const std::string address = config.text("serve.address");
    if (!address.empty()) out.http.places.push_back({address, static_cast<std::uint16_t>(config.whole("serve.port"))});
    if (config.flag("serve.socket")) out.http.socket = home + "/agentd.sock";
    if (out.http.places.empty() && out.http.socket.empty())
      return Error{Code::kInvalid, "serve.address is empty and serve.socket is off: there is nothing to listen on"};
  }
  out.sessions.park_after = std::chrono::minutes(config.whole("serve.park_minutes"));
  out.import_bytes = static_cast<std::size_t>(config.whole("serve.import_mb")) << 20;
  if (const auto user = app.surroundings().environment("HOME")) out.closed = cage::secret_places(*user);
  out.closed.push_back(home);
  out.uncaged = uncaged(app, config);
  if (config.flag("serve.uncaged")) out.uncaged.clear();
  out.sessions.may_allow = out.uncaged.empty();
  const bool allows = config.text("permissions.mode") == "allow";
  if (allows && !out.uncaged.empty())
    return Error{Code::kInvalid, config.origin("permissions.mode") +
                                     ": permissions.mode is allow, but commands have no sandbox (" + out.uncaged +
                                     "): choose another mode, or set serve.uncaged to true"};
  return out;
}

std::string places_text(const serve::Daemon& daemon, const Config& config) {
  std::string out;
  const std::string address = config.text("serve.address");
  for (const std::uint16_t port : daemon.ports())
    out += "http://" + (address.find(':') == std::string::npos ? address : "[" + address + "]") + ":" +
           std::to_string(port);
  if (!daemon.socket().empty()) out += (out.empty() ? "" : " and ") + daemon.socket();
  return out.empty() ? "the sockets of the service manager" : out;
}

}  // namespace

int serve_command(App& app, const Arguments& arguments) {
  const Result<Config> config = app.config(arguments);
  if (!config) return app.fail(kExitUsage, config.error().message);
  const auto home = app.home();
  if (!home) return app.fail(kExitUsage, home.error().message);
  auto options = options_of(app, arguments, *config, *home);
  if (!options) return app.fail(kExitUsage, options.error().message);
  if (!options->uncaged.empty()) app.err().line("agentd: commands have no sandbox here: " + options->uncaged);
  SignalScope signals;
  const CancelToken cancel = signals.next();
  // Later warnings are those of sessions, whose clients read events.
  const Warn warn = [&](const std::string& text) {
    app.err().line("agentd: " + text);
    options->warnings.push_back(text);
  };
  auto runtime = Runtime::begin(app.surroundings(), *config, app.clock(), {true, true}, warn);
  if (!runtime) {
    const Failure failure = failure_of(runtime.error());
    return app.fail(failure.code, failure.message);
  }
  if (auto opened = (*runtime)->open(); !opened) {
    const Failure failure = failure_of(opened.error());
    return app.fail(failure.code, failure.message);
  }
  if (auto made = serve::Tokens::load(*home); !made) return app.fail(kExitUsage, made.error().message);
  const auto token = serve::Tokens::read_own(*home);
  if (!token) return app.fail(kExitUsage, token.error().message);
  options->terms = serve::own_terms(*config, app.surroundings().environment, *home, options->hooks.hooks, *token,
                                    app.clock().wall_ms());
  const Warn log = [&runtime](const std::string& text) { (*runtime)->log().write(LogLevel::kWarning, "serve", text); };
  auto daemon = serve::Daemon::start(**runtime, std::move(*options), log);
  if (!daemon) {
    const Failure failure = failure_of(daemon.error());
    return app.fail(failure.code, failure.message);
  }
  const serve::ServiceManager manager(app.surroundings().environment);
  app.out().line("agentd serves " + *home + " on " + places_text(**daemon, *config));
  app.out().flush();
  manager.ready("serving");
  (*daemon)->serve(cancel, std::chrono::seconds(config->whole("serve.drain_seconds")),
                   {manager.alive_every(), [&manager] { manager.alive(); }, [&manager] { manager.stopping(); }});
  daemon->reset();
  return signals.caught() == SIGHUP ? signal_exit(SIGHUP) : static_cast<int>(kExitOk);
}

}  // namespace agentd::app
