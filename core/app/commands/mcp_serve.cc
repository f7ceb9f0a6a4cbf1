// SPDX-License-Identifier: Apache-2.0
// mcp_serve.cc - mcp: a server of the Model Context Protocol over standard input and output.
#include <optional>
#include <utility>

#include "core/app/app.h"
#include "core/app/commands/commands.h"
#include "core/app/commands/protocol_output.h"
#include "core/app/exit_codes.h"
#include "core/app/failure.h"
#include "core/app/signals.h"
#include "core/cage/places.h"
#include "core/mcp/server.h"
#include "core/rpc/wire.h"
#include "core/runtime/version.h"
#include "core/serve/job_threads.h"
#include "core/serve/workplaces.h"

namespace agentd::app {
namespace {

constexpr std::size_t kThreadsMax = 64;      // requests and runs at a time
constexpr Milliseconds kLastAnswers{2'000};  // for requests that go on when the client closes its end
constexpr Milliseconds kIdleLook{20};

class OnWire final : public mcp::Answerer {
 public:
  OnWire(RpcWire& wire, RpcId id) : wire_(wire), id_(std::move(id)) {}
  void answer(std::string result) override { wire_.answer(id_, result); }
  void refuse(const mcp::Fault& fault) override { wire_.refuse(id_, fault.rpc); }
  void drop() override {}
  void notify(std::string_view method, std::string_view params) override { wire_.notify(method, params); }

 private:
  RpcWire& wire_;
  const RpcId id_;
};

// Notifications to the client.
class HeardOnWire final : public mcp::Hearer {
 public:
  explicit HeardOnWire(RpcWire& wire) : wire_(wire) {}
  void notify(std::string_view method, std::string_view params) override { wire_.notify(method, params); }
  bool has_left() const override { return wire_.is_gone(); }

 private:
  RpcWire& wire_;
};

// Without a model for those who only want memories: `why` says then why none can be asked.
Result<std::unique_ptr<Runtime>, RunError> begin_runtime(App& app, const Config& config, const Warn& warn,
                                                         std::string& why) {
  const auto begin = [&](bool needs_model) -> Result<std::unique_ptr<Runtime>, RunError> {
    AGENTD_TRY(auto runtime, Runtime::begin(app.surroundings(), config, app.clock(), {true, needs_model}, warn));
    AGENTD_TRY_VOID(runtime->open());
    return runtime;
  };
  auto out = begin(true);
  if (out || (out.error().kind != RunError::Kind::kUsage && out.error().kind != RunError::Kind::kProvider)) return out;
  why = out.error().message;
  return begin(false);
}

// The client, before it says its name.
mcp::Caller caller_in(Runtime& runtime, const std::string& cwd) {
  mcp::Caller out;
  out.cwd = cwd;
  out.project = find_project(cwd).id;
  out.surface = "mcp";
  out.session = runtime.agent_parts().ids.next().text();
  return out;
}

}  // namespace

int mcp_serve_command(App& app, const Arguments& arguments) {
  const Result<Config> config = app.config(arguments);
  if (!config) return app.fail(kExitUsage, config.error().message);
  if (app.surroundings().input_tty)
    return app.fail(kExitUsage,
                    "mcp speaks with a client over standard input and output, and this is a terminal: name 'agentd "
                    "mcp' as an MCP server in the settings of your agent (docs/guide/mcp.md)");
  const auto home = app.home();
  const auto cwd = app.directory();
  if (!home || !cwd) return app.fail(kExitUsage, (home ? cwd : home).error().message);
  const auto out = take_protocol_output();
  if (!out) return app.fail(kExitFailure, out.error().message);
  SignalScope signals;
  const CancelToken cancel = signals.next();
  const Warn warn = [&app](const std::string& text) {
    app.err().line("agentd: " + text);
    app.err().flush();
  };
  std::string no_model;
  auto runtime = begin_runtime(app, *config, warn, no_model);
  if (!runtime) {
    const Failure failure = failure_of(runtime.error());
    return app.fail(failure.code, failure.message);
  }
  HookWishes hooks;
  hooks.hooks = !arguments.has("no-hooks");
  serve::WorkplaceLimits limits{.closed = {*home}};
  if (const auto user = app.surroundings().environment("HOME"))
    for (std::string& place : cage::secret_places(*user)) limits.closed.push_back(std::move(place));
  serve::Workplaces workplaces(**runtime, hooks, warn, std::move(limits));
  if (workplaces.is_closed(*cwd))
    return app.fail(kExitUsage,
                    "no client works in " + neutral_line(*cwd, 1000) + ": it has keys, or belongs to agentd");
  RpcWire wire(app.surroundings().input, out->get(), app.clock(), mcp::kMcpCancelling);
  std::optional<serve::JobThreads> threads(std::in_place, kThreadsMax);
  mcp::Means means{
      **runtime, [&](const std::string& directory) { return workplaces.at(directory); },
      [&](std::function<void()> work) { return threads->start(std::move(work)) == serve::JobThreads::Started::kYes; },
      AGENTD_VERSION, no_model};
  mcp::Server server(std::move(means));
  const auto client = std::make_shared<mcp::Client>(server.means(), caller_in(**runtime, app.surroundings().cwd),
                                                    mcp::Client::Ids::kOfOneConnection);
  (void)server.changes().hear(client, std::make_shared<HeardOnWire>(wire));
  wire.read_all(
      [&](RpcMessage message) {
        const auto shared = std::make_shared<const RpcMessage>(std::move(message));
        server.take(client, shared, std::make_shared<OnWire>(wire, shared->id));
      },
      cancel);
  server.changes().end();
  const Deadline last = Deadline::after(app.clock(), kLastAnswers);
  while (!client->is_idle() && !cancel.cancelled() && !last.passed(app.clock())) app.clock().pause(kIdleLook);
  client->cancel_all();
  server.stop();
  threads.reset();
  client->end();
  return signals.caught() == 0 ? static_cast<int>(kExitOk) : signal_exit(signals.caught());
}

}  // namespace agentd::app
