// SPDX-License-Identifier: Apache-2.0
// mcp_list.cc - agentd mcp list, show: the servers whose tools the model gets here.
#include <algorithm>

#include "core/app/commands/commands.h"
#include "core/app/commands/mcp_shared.h"
#include "core/app/exit_codes.h"
#include "core/app/table.h"
#include "core/app/transcript.h"
#include "core/base/bytes.h"
#include "core/codec/json.h"
#include "core/config/mcp_shown.h"

namespace agentd::app {
namespace {

constexpr std::size_t kShownServerBytes = 4000;

// `only`: nothing about other servers, which another command would name.
void tell_problems(App& app, const McpHere& here, const McpServerHere* only = nullptr) {
  for (const std::string& problem : here.problems) {
    const bool of_others = std::any_of(here.servers.begin(), here.servers.end(), [&](const McpServerHere& each) {
      return &each != only &&
             (each.wrong ? problem.starts_with(each.why)
                         : problem.find(": the server " + each.settings.name + ": ") != std::string::npos);
    });
    if (only == nullptr || !of_others) app.err().line("warning: " + shown_text(problem));
  }
}

std::string json_of(const McpHere& here, const McpServerHere& server) {
  JsonWriter out;
  out.begin_object().member("name", server.settings.name).member("origin", name_of(server.settings.origin));
  out.member("place", server.settings.place).member("state", state_of(server)).optional("why", server.why);
  if (const std::vector<std::string> held = held_back(here, server); !held.empty()) {
    out.key("held_back").begin_array();
    for (const std::string& tool : held) out.string(tool);
    out.end_array();
  }
  out.key("server").raw(mcp_server_json(without_secrets(server.settings))).end_object();
  return std::string(out.text());
}

std::string json_of(const mcp::ServerStatus::ToolState& tool) {
  JsonWriter out;
  out.begin_object().member("tool", tool.name).member("name", tool.definition.name);
  out.member("digest", tool.definition.digest()).member("description", tool.definition.description);
  out.key("input_schema").raw(tool.definition.input_schema_json).end_object();
  return std::string(out.text());
}

// "on, 2 tools held back: agentd mcp trust NAME".
std::string state_text(const McpHere& here, const McpServerHere& server) {
  std::string out(state_of(server));
  if (const std::size_t held = held_back(here, server).size(); held > 0)
    out += ", " + counted(held, "tool") + " held back: agentd mcp trust " + server.settings.name;
  return out;
}

void show(App& app, const McpHere& here, const McpServerHere& server) {
  Output& out = app.out();
  const McpServerSettings shown = without_secrets(server.settings);
  const auto line = [&](std::string_view what, const std::string& text) {
    out.line("  " + std::string(what) + shown_text(text));
  };
  out.line(shown.name + " (" + std::string(name_of(shown.origin)) + ", " + state_text(here, server) + ")");
  line("place:       ", shown.place);
  if (server.wrong) return line("note:        ", server.why);
  line(shown.url.empty() ? "runs:        " : "asks:        ", runs_text(shown));
  if (!shown.cwd.empty()) line("directory:   ", shown.cwd);
  for (const auto& [name, value] : shown.env) line("environment: ", name + "=" + value);
  for (const std::string& name : shown.pass_environment) line("environment: ", name + " of yours");
  for (const auto& [name, value] : shown.headers) line("header:      ", name + ": " + value);
  for (const std::string& each : rights_of(shown)) line("", each);
  if (!server.why.empty()) line("note:        ", server.why);
}

void show(App& app, const McpHere& here, const McpServerHere& server, const mcp::ServerStatus& status) {
  const McpConsent* const known = here.consents.find(server.settings.name, server.repository);
  app.out().line("  version:     " + shown_text(status.title + " " + status.version + ", protocol " + status.protocol));
  for (const mcp::ServerStatus::ToolState& tool : status.tools) {
    std::string note = known != nullptr && known->tools ? " (new: not trusted)" : "";
    if (known != nullptr && known->tools)
      for (const McpConsent::Tool& each : *known->tools)
        if (each.name == tool.definition.name)
          note = each.digest == tool.definition.digest() ? "" : " (changed: not trusted)";
    app.out().line("  " + shown_text(tool.name) + note);
    app.out().line("    " + shown_text(tool.definition.description));
  }
}

}  // namespace

int mcp_list_command(App& app, const Arguments& arguments) {
  const auto here = mcp_here(app, arguments);
  if (!here) return app.fail(here.error().code, here.error().message);
  tell_problems(app, *here);
  if (arguments.has("json")) {
    for (const McpServerHere& each : here->servers) app.out().line(json_of(*here, each));
    return kExitOk;
  }
  if (here->servers.empty()) app.err().line("no MCP server is configured; 'agentd mcp add' adds one");
  std::vector<std::vector<std::string>> rows;
  for (const McpServerHere& each : here->servers)
    rows.push_back({neutral_line(each.settings.name, kShownServerBytes), state_text(*here, each),
                    std::string(name_of(each.settings.origin)),
                    neutral_line(each.wrong ? each.settings.place : runs_text(without_secrets(each.settings)),
                                 kShownServerBytes)});
  if (!rows.empty())
    app.out().print(table_text({{"NAME"}, {"STATE"}, {"ORIGIN"}, {"SERVER"}}, rows, app.out().columns()));
  return kExitOk;
}

int mcp_show_command(App& app, const Arguments& arguments) {
  const auto here = mcp_here(app, arguments);
  if (!here) return app.fail(here.error().code, here.error().message);
  const auto server = server_of(*here, arguments.words()[0]);
  if (!server) return app.fail(server.error().code, server.error().message);
  tell_problems(app, *here, *server);
  const bool json = arguments.has("json");
  if (json)
    app.out().line(json_of(*here, **server));
  else
    show(app, *here, **server);
  if (!arguments.has("tools")) return kExitOk;
  if ((*server)->wrong) return app.fail(kExitUsage, (*server)->why);
  if ((*server)->waits)
    return app.fail(kExitBlocked,
                    "the MCP server " + (*server)->settings.name + " is not started, since " + (*server)->why);
  const auto started = StartedServer::start(app, *here, (*server)->settings);
  if (!started) return app.fail(started.error().code, started.error().message);
  if (json)
    for (const mcp::ServerStatus::ToolState& tool : (*started)->status().tools) app.out().line(json_of(tool));
  else
    show(app, *here, **server, (*started)->status());
  for (const std::string& warning : (*started)->warnings()) app.err().line("warning: " + shown_text(warning));
  return kExitOk;
}

}  // namespace agentd::app
