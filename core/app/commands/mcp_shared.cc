// SPDX-License-Identifier: Apache-2.0
#include "core/app/commands/mcp_shared.h"

#include <unistd.h>

#include <algorithm>

#include "core/app/exit_codes.h"
#include "core/app/transcript.h"
#include "core/base/bytes.h"
#include "core/base/nearest.h"
#include "core/base/visible_word.h"
#include "core/config/config_keys.h"
#include "core/config/mcp_address.h"
#include "core/net/curl_client.h"
#include "core/runtime/provider_setup.h"
#include "core/runtime/version.h"
#include "core/workplace/hook_cages.h"
#include "core/workplace/mcp_rules.h"

namespace agentd::app {
namespace {

constexpr std::size_t kShownReasonBytes = 4000;
constexpr Milliseconds kReasonTime{1'000};

// The lines of what a program wrote that the reason has not told yet.
std::string untold(std::string_view written, std::string_view why) {
  std::string out;
  for (const std::string& line : split(written, '\n')) {
    const std::string shown = one_line(without_blanks(line), kShownReasonBytes);
    if (!shown.empty() && why.find(shown) == std::string_view::npos) out += (out.empty() ? "" : "\n") + line;
  }
  return out;
}

}  // namespace

Result<McpHere, Failure> mcp_here(const App& app, const Arguments& arguments) {
  auto config = app.config(arguments);
  if (!config) return Failure{kExitUsage, config.error().message};
  auto home = app.home();
  if (!home) return Failure{kExitUsage, home.error().message};
  const auto cwd = app.directory();
  if (!cwd) return Failure{kExitFailure, cwd.error().message};
  McpHere out{std::move(*config), std::move(*home), find_project(*cwd), {}, {}, {}, {}};
  out.roots = workspace_roots(out.config, out.project, *cwd);
  auto consents = McpConsents::open(McpConsents::file_of(out.home), ::geteuid(), app.clock());
  if (!consents) return Failure{kExitFailure, consents.error().message};
  out.consents = std::move(*consents);
  auto servers = mcp_servers_here(out.config, out.home, out.project, out.consents, out.problems);
  if (!servers) return Failure{kExitUsage, servers.error().message};
  out.servers = std::move(*servers);
  return out;
}

std::vector<std::string> mcp_rule_warnings(const App& app, const Config& config, const std::string& home,
                                           const Project& project) {
  std::vector<std::string> unused, out;
  const auto consents = McpConsents::open(McpConsents::file_of(home), ::geteuid(), app.clock());
  if (!consents) return out;
  const auto servers = mcp_servers_here(config, home, project, *consents, unused);
  if (!servers) return out;
  for (McpRuleProblem& problem : mcp_rule_problems(config, *servers, *consents)) out.push_back(std::move(problem.text));
  return out;
}

Result<const McpServerHere*, Failure> server_of(const McpHere& here, const std::string& name) {
  std::vector<std::string> names;
  for (const McpServerHere& each : here.servers) {
    if (each.settings.name == name) return &each;
    names.push_back(each.settings.name);
  }
  return Failure{kExitNotFound,
                 "no MCP server is named '" + neutral_line(name, 80) + "'" +
                     (names.empty() ? std::string("; 'agentd mcp add' adds one") : did_you_mean(name, names))};
}

std::string_view state_of(const McpServerHere& server) {
  return server.wrong ? "wrong" : server.waits ? "not trusted" : server.off ? "off" : "on";
}

std::vector<std::string> held_back(const McpHere& here, const McpServerHere& server) {
  if (server.off || server.waits) return {};
  const McpConsent* const known = here.consents.find(server.settings.name, server.repository);
  return known == nullptr ? std::vector<std::string>() : known->held;
}

std::string shown_text(std::string_view text) {
  std::string out = visible(text);
  std::replace_if(
      out.begin(), out.end(), [](char c) { return c == '\n' || c == '\t'; }, ' ');
  return out;
}

std::string runs_text(const McpServerSettings& server) {
  if (!server.url.empty()) return shown_text(shown_mcp_url(server.url));
  std::string out = visible_word(server.command);
  for (const std::string& each : server.args) out += ' ' + visible_word(each);
  return out;
}

std::vector<std::string> rights_of(const McpServerSettings& server) {
  std::vector<std::string> out;
  const auto add = [&](std::string_view what, const std::vector<std::string>& values) {
    if (!values.empty()) out.push_back(std::string(what) + shown_text(join(values, ", ")));
  };
  if (server.url.empty() && !server.sandbox) out.emplace_back("sandbox:     none: it runs with all your rights");
  add("network:     ", server.network);
  add("reads:       ", server.readable);
  add("writes:      ", server.writable);
  add("tools:       ", server.tools);
  add("not offered: ", server.except_tools);
  if (server.trust_annotations) out.emplace_back("believed:    which of its tools only read");
  return out;
}

class StartedServer::AllAgreed final : public mcp::Pins {
 public:
  std::vector<Verdict> judge(const std::string& /*server*/, const std::vector<mcp::Definition>& tools) override {
    return std::vector<Verdict>(tools.size(), Verdict::kAgreed);
  }
};

StartedServer::StartedServer() : pins_(std::make_unique<AllAgreed>()) {}
StartedServer::~StartedServer() = default;

Result<std::unique_ptr<StartedServer>, Failure> StartedServer::start(App& app, const McpHere& here,
                                                                     const McpServerSettings& server) {
  auto setup = mcp_server_setup(app.surroundings(), here.config, here.home, here.project, here.roots, server);
  if (!setup) return Failure{kExitUsage, setup.error().message};
  std::unique_ptr<StartedServer> out(new StartedServer());
  out->http_ = make_http_client(app.clock(), http_settings(here.config));
  // The server's own time ends first, with its reason.
  const Deadline until = Deadline::after(app.clock(), setup->start_timeout + kReasonTime);
  std::vector<mcp::ServerSetup> servers;
  servers.push_back(std::move(*setup));
  out->tools_ =
      std::make_unique<mcp::McpTools>(std::move(servers), mcp::McpParts{app.clock(), *out->http_, *out->pins_,
                                                                        [&all = *out](const std::string& text) {
                                                                          const MutexLock lock(all.mutex_);
                                                                          all.warnings_.push_back(text);
                                                                        },
                                                                        AGENTD_VERSION});
  out->tools_->start();
  out->tools_->wait({}, until);
  out->status_ = out->tools_->status().front();
  if (out->status_.state == mcp::ServerState::kReady) return out;
  std::string why = out->status_.why.empty() ? "it has not listed its tools in time" : out->status_.why;
  if (const std::string more = untold(out->status_.error_text, why); !more.empty()) why += "; it wrote: " + more;
  return Failure{kExitFailure, "the MCP server " + server.name +
                                   " did not start: " + shown_text(utf8_prefix(why, kShownReasonBytes))};
}

std::vector<std::string> StartedServer::warnings() const {
  const MutexLock lock(mutex_);
  return warnings_;
}

}  // namespace agentd::app
