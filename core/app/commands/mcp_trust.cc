// SPDX-License-Identifier: Apache-2.0
// mcp_trust.cc - agentd mcp trust, untrust: the servers of a repository, and the tools of any server, that the user
// agrees to.
#include <algorithm>

#include "core/app/commands/commands.h"
#include "core/app/commands/hooks_shared.h"
#include "core/app/commands/mcp_shared.h"
#include "core/app/exit_codes.h"
#include "core/app/transcript.h"
#include "core/codec/json.h"
#include "core/config/mcp_address.h"

namespace agentd::app {
namespace {

constexpr std::size_t kShownBytes = 4000;

class McpTruster {
 public:
  McpTruster(App& app, McpHere& here, const McpServerHere& server, bool yes)
      : app_(app), here_(here), server_(server), name_(server.settings.name), yes_(yes) {}

  int run() {
    if (server_.wrong) return app_.fail(kExitUsage, "not trusted: " + server_.why);
    if (server_.off) return app_.fail(kExitUsage, "the MCP server " + name_ + " is off: " + server_.why);
    if (server_.waits) {
      if (!agree(definition(), "Start it with these rights? [y/N] ")) return refused();
      if (auto kept = keep([&](McpConsent& entry) {
            entry.definition = server_.definition;
            entry.tools.reset();
          });
          !kept)
        return app_.fail(kExitFailure, kept.error().message);
    }
    const auto started = StartedServer::start(app_, here_, server_.settings);
    if (!started) return app_.fail(started.error().code, started.error().message);
    const mcp::ServerStatus& status = (*started)->status();
    const std::string news = changes(status);
    if (!news.empty() && !agree(news, "Offer these tools to the model? [y/N] ")) return refused();
    const auto kept = keep([&](McpConsent& entry) {
      entry.tools.emplace();
      entry.held.clear();
      for (const auto& tool : status.tools) entry.tools->push_back({tool.definition.name, tool.definition.digest()});
    });
    if (!kept) return app_.fail(kExitFailure, kept.error().message);
    app_.out().line("trusted: " + name_ + " with " + std::to_string(status.tools.size()) +
                    (status.tools.size() == 1 ? " tool" : " tools"));
    return kExitOk;
  }

 private:
  // All that decides what the server can do, in full.
  std::string definition() const {
    std::string out = name_ + " of " + server_.settings.place + "\n";
    const auto line = [&](std::string_view what, const std::string& text) {
      out += "  " + std::string(what) + neutral_line(text, kShownBytes) + "\n";
    };
    const McpServerSettings& server = server_.settings;
    line(server.url.empty() ? "runs:        " : "asks:        ", runs_text(server));
    if (!server.cwd.empty()) line("directory:   ", server.cwd);
    for (const auto& [name, value] : server.env) line("environment: ", name + "=" + value);
    for (const std::string& name : server.pass_environment) line("environment: ", name + " of yours");
    for (const auto& [name, value] : server.headers)  // a key as a rule, and no right of the server
      line("header:      ", name + ": " + (is_only_variables(value) ? value : "***"));
    for (const std::string& each : rights_of(server)) line("", each);
    line("sha256:      ", server_.definition);
    return out;
  }

  // The tools that were not agreed to, with what the model would be told of them. Empty = there are none.
  std::string changes(const mcp::ServerStatus& status) const {
    const McpConsent* const known = here_.consents.find(name_, server_.repository);
    std::string out;
    for (const mcp::ServerStatus::ToolState& tool : status.tools) {
      std::string_view word = "new";
      if (known != nullptr && known->tools)
        for (const McpConsent::Tool& each : *known->tools)
          if (each.name == tool.definition.name) word = each.digest == tool.definition.digest() ? "" : "changed";
      if (word.empty()) continue;
      out += "  " + neutral_line(tool.name, kShownBytes) + " (" + std::string(word) + ")\n    " +
             neutral_line(tool.definition.description, kShownBytes) + "\n    " +
             neutral_line(tool.definition.input_schema_json, kShownBytes) + "\n";
    }
    return out;
  }

  bool agree(const std::string& text, std::string_view question) {
    if (!yes_) return says_yes(app_, text, question);
    app_.out().print(text);
    return true;
  }
  int refused() { return app_.fail(kExitFailure, "not trusted: nothing was changed further"); }

  template <typename Change>
  Result<void> keep(Change change) {
    return here_.consents.change(name_, server_.repository, change);
  }

  App& app_;
  McpHere& here_;
  const McpServerHere& server_;
  const std::string name_;
  const bool yes_;
};

}  // namespace

int mcp_trust_command(App& app, const Arguments& arguments) {
  auto here = mcp_here(app, arguments);
  if (!here) return app.fail(here.error().code, here.error().message);
  const auto server = server_of(*here, arguments.words()[0]);
  if (!server) return app.fail(server.error().code, server.error().message);
  const bool yes = arguments.has("yes");
  if (!yes && !app.surroundings().input_tty)
    return app.fail(kExitUsage,
                    "not trusted: there is no terminal to confirm on; pass --yes to trust " + (*server)->settings.name);
  return McpTruster(app, *here, **server, yes).run();
}

int mcp_untrust_command(App& app, const Arguments& arguments) {
  auto here = mcp_here(app, arguments);
  if (!here) return app.fail(here.error().code, here.error().message);
  const std::string& name = arguments.words()[0];
  const auto server = server_of(*here, name);
  if (!server) return app.fail(server.error().code, server.error().message);
  if (here->consents.find(name, (*server)->repository) == nullptr)
    return app.fail(kExitNotFound, "nothing was trusted of the MCP server " + name);
  // Its entry stays: without one, a server of the user's would be agreed to at its next start.
  const auto kept = here->consents.change(name, (*server)->repository, [](McpConsent& entry) {
    entry.definition.clear();
    entry.tools.emplace();
  });
  if (!kept) return app.fail(kExitFailure, kept.error().message);
  app.out().line("no longer trusted: " + name);
  return kExitOk;
}

}  // namespace agentd::app
