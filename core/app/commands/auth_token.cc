// SPDX-License-Identifier: Apache-2.0
// auth_token.cc - agentd auth token add | list | remove: tokens for clients of the daemon.
#include "core/app/app.h"
#include "core/app/commands/commands.h"
#include "core/app/exit_codes.h"
#include "core/app/table.h"
#include "core/codec/json.h"
#include "core/serve/tokens.h"

namespace agentd::app {
namespace {

using serve::Scope;
using serve::Tokens;

// Files that must not be used are mistakes of the configuration.
int token_exit(const Error& error) {
  if (error.code == Code::kDenied || error.code == Code::kCorrupt) return kExitUsage;
  return error_exit(error, kExitUsage, kExitFailure);
}

std::string_view allowed_by(Scope scope) {
  switch (scope) {
    case Scope::kNone:
      break;
    case Scope::kRead:
      return "it may look";
    case Scope::kRun:
      return "it may look, and let models and tools work";
    case Scope::kApprove:
      return "it may look, and answer questions";
    case Scope::kAdmin:
      return "it may do everything";
  }
  return "it may do nothing";
}

}  // namespace

int auth_token_add_command(App& app, const Arguments& arguments) {
  const std::string& name = arguments.words()[0];
  const auto scope = serve::scope_of(arguments.value("scope"));
  if (!scope || *scope == Scope::kNone)
    return app.fail(kExitUsage, "'agentd auth token add' needs --scope: read, run, approve or admin");
  const Result<std::string> home = app.home();
  if (!home) return app.fail(kExitUsage, home.error().message);
  const auto token = Tokens::add(*home, name, *scope, app.clock().wall_ms());
  if (!token) return app.fail(token_exit(token.error()), token.error().message);
  app.out().print(*token + "\n");
  app.out().flush();
  if (app.out().failure() != 0) {
    // No client can have it. App::main() reports why.
    (void)Tokens::remove(*home, name);
    return kExitOk;
  }
  app.err().line("the token '" + name + "' has the scope " + std::string(serve::name_of(*scope)) + ": " +
                 std::string(allowed_by(*scope)) + ". It is not shown again; 'agentd auth token remove " + name +
                 "' removes it");
  return kExitOk;
}

int auth_token_list_command(App& app, const Arguments& arguments) {
  const Result<std::string> home = app.home();
  if (!home) return app.fail(kExitUsage, home.error().message);
  const auto all = Tokens::list(*home);
  if (!all) return app.fail(token_exit(all.error()), all.error().message);
  // The daemon's own is not listed, but this is where its user looks when no token works.
  if (const auto own = Tokens::read_own(*home); !own && own.error().code != Code::kNotFound)
    return app.fail(token_exit(own.error()), own.error().message);
  std::vector<std::vector<std::string>> rows;
  for (const Tokens::Named& each : *all) {
    const std::string scope(serve::name_of(each.scope)), created = iso_time(each.created_ms);
    rows.push_back({each.name, scope, created});
    if (!arguments.has("json")) continue;
    JsonWriter json;
    json.begin_object().member("name", each.name).member("scope", scope).member("created", created).end_object();
    app.out().print(std::string(json.text()) + "\n");
  }
  if (arguments.has("json")) return kExitOk;
  app.out().print(rows.empty() ? "there are no tokens for clients; make one with 'agentd auth token add NAME --scope "
                                 "SCOPE'\n"
                               : table_text({{"NAME"}, {"SCOPE"}, {"CREATED"}}, rows, std::string::npos));
  return kExitOk;
}

int auth_token_remove_command(App& app, const Arguments& arguments) {
  const Result<std::string> home = app.home();
  if (!home) return app.fail(kExitUsage, home.error().message);
  const auto removed = Tokens::remove(*home, arguments.words()[0]);
  if (!removed) return app.fail(token_exit(removed.error()), removed.error().message);
  app.out().confirm("removed the token '" + removed->name + "' with the scope " +
                    std::string(serve::name_of(removed->scope)) + "\n");
  return kExitOk;
}

}  // namespace agentd::app
