// SPDX-License-Identifier: Apache-2.0
#include "core/app/command_table.h"
#include "core/app/commands/commands.h"

namespace agentd::app {
namespace {

CommandSpec auth_token_add_spec() {
  return {
      "auth token add",
      "NAME",
      "make a token for a client of the daemon, and print it once",
      "The token alone goes to standard output. agentd keeps only its SHA-256, in serve.tokens of the home "
      "directory; a\nrunning daemon accepts the token at once. Clients of your own user need none: they read "
      "serve.token, the daemon's\nown.\nA token with the scope read may look; run: look, and let models and tools "
      "work; approve: look, and answer\nquestions; admin: everything. A client that runs may not answer its own "
      "questions.",
      {{"scope", 0, "SCOPE", "the scope of the token (required)", "read|run|approve|admin"}},
      {"agentd auth token add dashboard --scope read", "(umask 077; agentd auth token add ci --scope run > ci.token)"},
      1,
      1,
      {},
      auth_token_add_command};
}

CommandSpec auth_token_list_spec() {
  return {"auth token list",
          "",
          "list the tokens that were made for clients: name, scope and time",
          "",
          {kAsJson},
          {"agentd auth token list", "agentd auth token list --json | jq -r .name"},
          0,
          0,
          {},
          auth_token_list_command};
}

CommandSpec auth_token_remove_spec() {
  return {
      "auth token remove",
      "NAME",
      "remove a token that was made for a client",
      "A running daemon refuses it from then on. Exit code 4 if no token has that name. To replace the daemon's own "
      "token,\nremove serve.token in the home directory: the daemon makes another.",
      {},
      {"agentd auth token remove ci"},
      1,
      1,
      {},
      auth_token_remove_command};
}

}  // namespace

std::vector<CommandSpec> token_commands() {
  return {auth_token_add_spec(), auth_token_list_spec(), auth_token_remove_spec()};
}

CommandSpec attach_command_spec() {
  return {
      "attach",
      "[ID]",
      "show a conversation of 'agentd serve' in this terminal, and take part in it",
      "Shows the last messages, then events as they happen. On a terminal a line is a message: for the active run, or "
      "a run\nof its own; questions are asked. Ctrl-C cancels the run, Ctrl-D leaves and ends nothing. Exit code 4 if "
      "no daemon\nruns.",
      {{"follow", 'f', {}, "the newest conversation of this project"},
       kAsJson,
       {"trace-hooks", 0, {}, "show every hook's answer and how long it took", {}, "hooks.trace"}},
      {"agentd attach 01KD", "agentd attach --follow --json | jq -r .type"},
      0,
      1,
      {},
      attach_command};
}

CommandSpec serve_command_spec() {
  return {
      "serve",
      "",
      "serve conversations over HTTP, on this machine alone",
      "Listens on 127.0.0.1:9090 and on the unix socket agentd.sock in the home directory, until it is interrupted. "
      "Every request but\nGET /healthz needs a token: that of the file serve.token in the home directory, or one of "
      "'agentd auth token'.\nGET /openapi.json describes the interface, and docs/reference/http.md.\nProjects "
      "are those of the conversations; hooks of a project run if they are trusted. Questions wait for\n"
      "'agentd approve' or a token with the scope approve.",
      {kProvider,
       kModel,
       kScript,
       {"port", 0, "PORT", "the port instead of 9090; 0: any free one", {}, "serve.port"},
       {"no-hooks", 0, {}, "load no hooks"},
       kSet},
      {"agentd serve",
       "curl -H \"Authorization: Bearer $(cat ~/.agent/serve.token)\" http://127.0.0.1:9090/api/v1/conversations"},
      0,
      0,
      {},
      serve_command};
}

CommandSpec acp_command_spec() {
  return {"acp",
          "",
          "be the agent of an editor, by the Agent Client Protocol",
          "Speaks version 1 of the protocol over standard input and output, until the editor closes it; logs go to "
          "standard "
          "error.\nAn editor starts it: name the command 'agentd' with the argument 'acp' in its settings "
          "(docs/guide/editors.md).\nConversations are those of 'agentd chat': each can go on at either.",
          {kProvider, kModel, kScript, {"no-hooks", 0, {}, "load no hooks"}, kSet},
          {"agentd acp --model claude-sonnet-5"},
          0,
          0,
          {},
          acp_command};
}

CommandSpec mcp_serve_spec() {
  return {"mcp",
          "",
          "be a server of the Model Context Protocol",
          "Speaks the protocol over standard input and output, until the client closes it; logs go to standard error.\n"
          "A client starts it in the directory of a project: name the command 'agentd' with the argument 'mcp' in its "
          "settings (docs/guide/mcp.md).\nIt offers agentd's memories, checkpoints, conversations and runs, and the "
          "tools that only read; 'mcp.server.tools' names others. A question is denied, since no person is there.",
          {kProvider, kModel, kScript, {"no-hooks", 0, {}, "load no hooks"}, kSet},
          {"agentd mcp --model claude-sonnet-5"},
          0,
          0,
          {},
          mcp_serve_command};
}

}  // namespace agentd::app
