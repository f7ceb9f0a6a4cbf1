// SPDX-License-Identifier: Apache-2.0
// mcp_change.cc - agentd mcp add, remove, import: the servers in mcp.json of agentd's home.
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>

#include "core/app/commands/commands.h"
#include "core/app/commands/mcp_shared.h"
#include "core/app/exit_codes.h"
#include "core/app/transcript.h"
#include "core/base/bytes.h"
#include "core/base/file.h"
#include "core/base/shell_word.h"
#include "core/codec/json.h"
#include "core/config/mcp_address.h"
#include "core/config/mcp_import.h"
#include "core/config/mcp_shown.h"
#include "core/trust/trust_file.h"

namespace agentd::app {
namespace {

constexpr std::size_t kShownProblemBytes = 4000;
constexpr const char* kCaseNote = " (names that differ only by upper and lower case are one)";
constexpr std::uint64_t kImportBytesMax = 64u << 20;  // ~/.claude.json keeps histories

using Servers = std::vector<McpServerSettings>;

Servers::iterator find(Servers& servers, const std::string& name) {
  return std::find_if(servers.begin(), servers.end(), [&](const auto& each) { return each.name == name; });
}

bool is_same_name(const std::string& a, const std::string& b) { return ascii_lower(a) == ascii_lower(b); }

// The file as a whole; what it has is read strictly, so that nothing is lost.
Result<void> change(const std::string& file, const std::function<Result<void>(Servers&)>& change_servers) {
  return change_trust_file(file, ::geteuid(), [&](const auto& text) -> Result<std::string> {
    Servers servers;
    if (text) {
      AGENTD_TRY(servers, read_mcp_file(*text, file, McpServerSettings::Origin::kUserFile));
    }
    AGENTD_TRY_VOID(change_servers(servers));
    JsonWriter out(JsonWriter::Layout::kPretty);
    out.begin_object().key("mcpServers").begin_object();
    for (const McpServerSettings& each : servers) {
      const auto json = JsonDocument::parse(mcp_server_json(each));
      out.key(each.name).value(json ? json->root() : JsonView());
    }
    out.end_object().end_object();
    return std::string(out.text()) + "\n";
  });
}

// "NAME=VALUE", or "NAME: VALUE" of a header.
Result<std::pair<std::string, std::string>> pair_of(const std::string& text, char between, std::string_view option) {
  const std::size_t at = text.find(between);
  if (at == 0 || at == std::string::npos)
    return Error{Code::kInvalid,
                 "--" + std::string(option) + " must be NAME" + between + (between == ':' ? " " : "") + "VALUE"};
  std::string value = text.substr(at + 1);
  if (between == ':') value.erase(0, std::min(value.find_first_not_of(' '), value.size()));
  return std::pair(text.substr(0, at), std::move(value));
}

void write_list(JsonWriter& out, std::string_view name, const std::vector<std::string>& texts) {
  if (texts.empty()) return;
  out.key(name).begin_array();
  for (const std::string& text : texts) out.string(text);
  out.end_array();
}

Result<void> write_pairs(JsonWriter& out, std::string_view name, const std::vector<std::string>& texts, char between,
                         std::string_view option) {
  if (texts.empty()) return {};
  out.key(name).begin_object();
  for (const std::string& text : texts) {
    AGENTD_TRY(const auto pair, pair_of(text, between, option));
    out.member(pair.first, pair.second);
  }
  out.end_object();
  return {};
}

Result<McpServerSettings> new_server(const Arguments& arguments) {
  const std::vector<std::string>& words = arguments.words();
  JsonWriter out;
  out.begin_object();
  if (words.size() > 1) out.member("command", words[1]);
  if (words.size() > 2) write_list(out, "args", {words.begin() + 2, words.end()});
  AGENTD_TRY_VOID(write_pairs(out, "env", arguments.values("env"), '=', "env"));
  write_list(out, "pass_environment", arguments.values("pass-env"));
  out.optional("cwd", arguments.value("cwd")).optional("url", arguments.value("url"));
  AGENTD_TRY_VOID(write_pairs(out, "headers", arguments.values("header"), ':', "header"));
  out.optional("scope", arguments.value("scope"));
  if (arguments.has("no-sandbox")) out.member("sandbox", false);
  if (arguments.has("trust-annotations")) out.member("trust_annotations", true);
  write_list(out, "tools", arguments.values("tool"));
  write_list(out, "except_tools", arguments.values("except-tool"));
  write_list(out, "network", arguments.values("network"));
  write_list(out, "readable", arguments.values("readable"));
  write_list(out, "writable", arguments.values("writable"));
  out.end_object();
  const auto json = JsonDocument::parse(out.text());
  if (!json) return json.error();
  return read_mcp_server(words[0], json->root());
}

}  // namespace

int mcp_add_command(App& app, const Arguments& arguments) {
  auto server = new_server(arguments);
  if (!server) return app.fail(kExitUsage, server.error().message);
  if (!server->url.empty())
    if (const auto usable = check_mcp_url(server->url); !usable)
      return app.fail(kExitUsage, "url: " + usable.error().message);
  const auto here = mcp_here(app, arguments);
  if (!here) return app.fail(here.error().code, here.error().message);
  const std::string file = mcp_file_of(here->home);
  for (const McpServerHere& each : here->servers) {
    if (each.settings.origin == McpServerSettings::Origin::kProject || !is_same_name(each.settings.name, server->name))
      continue;
    if (each.settings.origin == McpServerSettings::Origin::kSettings)
      return app.fail(kExitUsage, "the settings have a server '" + each.settings.name + "' already, at " +
                                      each.settings.place + kCaseNote + ": change it there, or choose another name");
    if (each.settings.name != server->name)
      return app.fail(kExitUsage, file + " has a server '" + each.settings.name + "'" + kCaseNote +
                                      ": choose another name, or run " +
                                      shell_command("agentd mcp remove", each.settings.name) + " first");
  }
  const auto added = change(file, [&](Servers& servers) -> Result<void> {
    const auto known = find(servers, server->name);
    if (known == servers.end()) {
      servers.push_back(*server);
      return {};
    }
    if (!arguments.has("replace"))
      return Error{Code::kConflict, file + " has a server '" + server->name + "' already: pass --replace, or run " +
                                        shell_command("agentd mcp remove", server->name) + " first"};
    *known = *server;
    return {};
  });
  if (!added) return app.fail(added.error().code == Code::kConflict ? kExitUsage : kExitFailure, added.error().message);
  if (const std::vector<std::string> secrets = written_secrets(*server); !secrets.empty())
    app.err().line("warning: " + file + " has what may be a secret as it is, in " + shown_text(join(secrets, ", ")) +
                   ": write ${NAME} in its place, and put the secret into a variable of that name");
  app.out().line("added: " + server->name + " to " + file);
  app.out().line(shell_command("agentd mcp show --tools", server->name) + " starts it and lists its tools");
  return kExitOk;
}

int mcp_remove_command(App& app, const Arguments& arguments) {
  const std::string& name = arguments.words()[0];
  const auto here = mcp_here(app, arguments);
  if (!here) return app.fail(here.error().code, here.error().message);
  using Origin = McpServerSettings::Origin;
  const auto is_of = [&](Origin origin) {
    return std::any_of(here->servers.begin(), here->servers.end(), [&](const McpServerHere& each) {
      return each.settings.name == name && each.settings.origin == origin;
    });
  };
  if (!is_of(Origin::kUserFile)) {
    const auto server = server_of(*here, name);
    if (!server) return app.fail(server.error().code, server.error().message);
    return app.fail(kExitUsage, "the MCP server " + name + " is in " + (*server)->settings.place + ": remove it there");
  }
  const std::string file = mcp_file_of(here->home);
  const auto removed = change(file, [&](Servers& servers) -> Result<void> {
    std::erase_if(servers, [&](const McpServerSettings& each) { return each.name == name; });
    return {};
  });
  if (!removed) return app.fail(kExitFailure, removed.error().message);
  for (const McpServerHere& each : here->servers)
    if (each.settings.origin == Origin::kSettings && is_same_name(each.settings.name, name)) {
      app.out().line("removed: " + name + " of " + file + "; " + each.settings.place + " still has one");
      return kExitOk;
    }
  // Another server of that name begins anew.
  McpConsents consents = here->consents;
  if (const auto gone = consents.forget(name, {}); !gone) return app.fail(kExitFailure, gone.error().message);
  app.out().line("removed: " + name);
  return kExitOk;
}

int mcp_import_command(App& app, const Arguments& arguments) {
  const std::string& path = arguments.words()[0];
  const auto here = mcp_here(app, arguments);
  if (!here) return app.fail(here.error().code, here.error().message);
  const auto text = read_file(path, kImportBytesMax);
  if (!text) return app.fail(text.error().code == Code::kNotFound ? kExitNotFound : kExitUsage, text.error().message);
  const std::string from = arguments.value("from");
  const McpDialect dialect = find_mcp_dialect(from).value_or(mcp_dialect_of(std::filesystem::absolute(path).string()));
  const auto imported = import_mcp_servers(*text, dialect, path, here->project.root);
  if (!imported) return app.fail(kExitUsage, imported.error().message);
  std::vector<std::string> added, problems = imported->problems;
  const auto add = [&](Servers& servers) -> Result<void> {
    for (const McpServerSettings& each : imported->servers) {
      const bool known = std::any_of(here->servers.begin(), here->servers.end(), [&](const McpServerHere& other) {
        return is_same_name(other.settings.name, each.name) &&
               other.settings.origin != McpServerSettings::Origin::kProject;
      });
      if (known || find(servers, each.name) != servers.end()) {
        problems.push_back(each.name + " is not imported: you have a server of that name" + kCaseNote);
        continue;
      }
      servers.push_back(each);
      added.push_back(each.name);
    }
    return {};
  };
  Servers dry;
  const auto done = arguments.has("dry-run") ? add(dry) : change(mcp_file_of(here->home), add);
  if (!done) return app.fail(kExitFailure, done.error().message);
  for (const std::string& problem : problems) app.err().line("warning: " + neutral_line(problem, kShownProblemBytes));
  const std::string_view word = arguments.has("dry-run") ? "would import: " : "imported: ";
  for (const std::string& name : added) app.out().line(std::string(word) + name);
  if (added.empty()) return app.fail(kExitFailure, path + " has no server that can be imported");
  return kExitOk;
}

}  // namespace agentd::app
