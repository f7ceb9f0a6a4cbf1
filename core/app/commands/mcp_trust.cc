// SPDX-License-Identifier: Apache-2.0
// mcp_trust.cc - agentd mcp trust, untrust: the servers of a repository, and the tools of any server, that the user
// agrees to.
#include "core/app/commands/commands.h"
#include "core/app/commands/hooks_shared.h"
#include "core/app/commands/mcp_shared.h"
#include "core/app/exit_codes.h"
#include "core/app/transcript.h"
#include "core/base/bytes.h"
#include "core/base/shell_word.h"
#include "core/base/visible_word.h"
#include "core/codec/json.h"
#include "core/config/secret_words.h"

namespace agentd::app {
namespace {

class McpTruster {
 public:
  McpTruster(App& app, McpHere& here, const McpServerHere& server, bool yes)
      : app_(app), here_(here), server_(server), name_(server.settings.name), yes_(yes) {}

  int run() {
    if (server_.wrong) return app_.fail(kExitUsage, "not trusted: " + server_.why);
    if (server_.off) return app_.fail(kExitUsage, "the MCP server " + name_ + " is off: " + server_.why);
    if (server_.waits && !agree(definition(), "Start it with these rights? [y/N] "))
      return app_.fail(kExitFailure, "not trusted: nothing was changed");
    const auto started = StartedServer::start(app_, here_, server_.settings);
    if (!started)
      return app_.fail(started.error().code,
                       server_.waits ? "not trusted, since its tools could not be shown: " + started.error().message
                                     : started.error().message);
    const std::vector<mcp::ServerStatus::ToolState>& tools = (*started)->status().tools;
    const News news = news_of(tools);
    // Before the question: however it ends, none of these is offered without a yes.
    auto kept = keep([&](McpConsent& entry) {
      if (server_.waits) {
        entry.definition = server_.definition;
        entry.files = server_.files;
        entry.tools.emplace();
      }
      if (!entry.tools) entry.tools.emplace();
      entry.held = news.names;
    });
    if (!kept) return app_.fail(kExitFailure, kept.error().message);
    if (!news.names.empty() && !agree(news.text, "Offer these tools to the model? [y/N] "))
      return refused_tools(news.names.size());
    kept = keep([&](McpConsent& entry) {
      entry.tools.emplace();
      entry.held.clear();
      for (const auto& tool : tools) entry.tools->push_back({tool.definition.name, tool.definition.digest()});
    });
    if (!kept) return app_.fail(kExitFailure, kept.error().message);
    app_.out().line("trusted: " + name_ + " with " + counted(tools.size(), "tool"));
    return kExitOk;
  }

 private:
  // All that decides what the server can do, in full.
  std::string definition() const {
    std::string out = name_ + " of " + shown_text(server_.settings.place) + "\n";
    const auto line = [&](std::string_view what, const std::string& text) {
      out += "  " + std::string(what) + shown_text(text) + "\n";
    };
    const McpServerSettings& server = server_.settings;
    line(server.url.empty() ? "runs:        " : "asks:        ", runs_text(server));
    if (!server.cwd.empty()) line("directory:   ", server.cwd);
    for (const auto& [name, value] : server.env)
      line("environment: ", name + "=" + (shown_text(value) == value ? value : visible_word(value)));
    for (const std::string& name : server.pass_environment) line("environment: ", name + " of yours");
    for (const auto& [name, value] : server.headers)  // a key as a rule, and no right of the server
      line("header:      ", name + ": " + without_literals(value));
    for (const std::string& each : rights_of(server)) line("", each);
    line("sha256:      ", server_.definition);
    for (const McpConsent::File& file : server_.files) line("file:        ", file.path + ", sha256 " + file.digest);
    if (!server.command.empty())
      out += server_.files.empty()
                 ? "  Consent is to this text, not to the programs and scripts that it names, nor to what they load.\n"
                 : "  Consent is to this text and these files, not to what they load.\n";
    return out;
  }

  // The tools that were not agreed to, with what the model would be told of them.
  struct News {
    std::vector<std::string> names;
    std::string text;
  };
  News news_of(const std::vector<mcp::ServerStatus::ToolState>& tools) const {
    const McpConsent* const known = here_.consents.find(name_, server_.repository);
    News out;
    for (const mcp::ServerStatus::ToolState& tool : tools) {
      std::string_view word = "new";
      if (known != nullptr && known->tools)
        for (const McpConsent::Tool& each : *known->tools)
          if (each.name == tool.definition.name)
            word = each.digest == tool.definition.digest() ? "as before" : "changed";
      if (word == "as before" && !server_.waits) continue;
      out.names.push_back(tool.definition.name);
      out.text += "  " + shown_text(tool.name) + " (" + std::string(word) + ")\n    " +
                  shown_text(tool.definition.description) + "\n    " + shown_text(tool.definition.input_schema_json) +
                  "\n";
    }
    return out;
  }

  int refused_tools(std::size_t count) {
    std::string text = "not trusted: " + counted(count, "tool") + " of " + name_ + (count == 1 ? " is" : " are") +
                       " held back until you agree";
    if (!server_.repository.empty())
      text += "; " + shell_command("agentd mcp untrust", name_) + " keeps it from starting";
    return app_.fail(kExitFailure, text);
  }

  bool agree(const std::string& text, std::string_view question) {
    if (!yes_) return says_yes(app_, text, question);
    app_.out().print(text);
    return true;
  }

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
