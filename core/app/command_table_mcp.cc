// SPDX-License-Identifier: Apache-2.0
#include "core/app/command_table.h"
#include "core/app/commands/commands.h"

namespace agentd::app {
namespace {

constexpr OptionSpec kYes{"yes", 0, {}, "agree without a question"};

CommandSpec add_spec() {
  return {
      "mcp add",
      "NAME [-- COMMAND [ARGUMENT...]]",
      "add a server of the Model Context Protocol: a command, or --url",
      "It is kept in mcp.json of the home directory, readable only by you. ${NAME} in a command, an argument, a "
      "value or\nthe address stands for an environment variable when the server starts, so that keys need not be "
      "written down.\nA command runs in the sandbox of commands: it reads the project, writes nowhere else than "
      "--writable says, and\nhas no network but the hosts of --network.",
      {{"url", 0, "URL", "the server's address (streamable HTTP), instead of a command"},
       {"header", 0, "NAME: VALUE", "a header of each request (repeats)", {}, {}, {}, true},
       {"env", 0, "NAME=VALUE", "a variable of its environment (repeats)", {}, {}, {}, true},
       {"pass-env", 0, "NAME", "a variable of yours that it gets (repeats)", {}, {}, {}, true},
       {"cwd", 0, "DIRECTORY", "where it starts; otherwise the project's root"},
       {"network", 0, "HOST", "a host that it may reach, such as *.example.org, or all (repeats)", {}, {}, {}, true},
       {"readable", 0, "PATH", "a further path that it may read (repeats)", {}, {}, {}, true},
       {"writable", 0, "PATH", "a path that it may change; . is the project (repeats)", {}, {}, {}, true},
       {"tool", 0, "NAME", "a tool to offer, or a glob; otherwise all (repeats)", {}, {}, {}, true},
       {"except-tool", 0, "NAME", "a tool that is not offered, or a glob (repeats)", {}, {}, {}, true},
       {"scope", 0, "SCOPE", "session: a process for each session", "workplace|session"},
       {"trust-annotations", 0, {}, "believe which of its tools only read"},
       {"no-sandbox", 0, {}, "run it with all your rights"},
       {"replace", 0, {}, "replace the server of that name"}},
      {"agentd mcp add files --writable . --network registry.npmjs.org -- npx -y "
       "@modelcontextprotocol/server-filesystem .",
       "agentd mcp add tickets --url https://mcp.example.org/mcp --header 'Authorization: Bearer ${TICKETS_TOKEN}'"},
      1,
      kManyWords,
      {},
      mcp_add_command};
}

CommandSpec list_spec() {
  return {
      "mcp list",
      "",
      "list the servers of the Model Context Protocol: state, origin and command",
      "The servers of the settings (mcp.servers), of mcp.json in the home directory, and of .mcp.json in the project, "
      "which wait\nfor 'agentd mcp trust'.",
      {kAsJson, kSet},
      {"agentd mcp list", "agentd mcp list --json | jq -r .name"},
      0,
      0,
      {},
      mcp_list_command};
}

CommandSpec show_spec() {
  return {
      "mcp show",
      "NAME",
      "show a server: its command, its rights and, with --tools, its tools",
      "Values of variables and headers, and what looks like a secret in arguments and the address, are shown as ***. "
      "${NAME} stays.",
      {{"tools", 0, {}, "start it, and list its tools"}, kAsJson, kSet},
      {"agentd mcp show files", "agentd mcp show --tools files"},
      1,
      1,
      {},
      mcp_show_command};
}

CommandSpec trust_spec() {
  return {"mcp trust",
          "NAME",
          "trust a server of the project, or the changed tools of a server",
          "Shows the exact command, its environment and its rights, starts it after you agree, and shows the tools "
          "that are\nnew or changed. Tools that you refuse are held back, and so is a tool that changes later, until "
          "you trust it\nagain. A server that does not start, so that its tools cannot be shown, is not trusted.",
          {kYes, kSet},
          {"agentd mcp trust files"},
          1,
          1,
          {},
          mcp_trust_command};
}

CommandSpec untrust_spec() {
  return {"mcp untrust",
          "NAME",
          "forget what was trusted of a server",
          "Exit code 4 if nothing was.",
          {kSet},
          {"agentd mcp untrust files"},
          1,
          1,
          {},
          mcp_untrust_command};
}

CommandSpec remove_spec() {
  return {"mcp remove",
          "NAME",
          "remove a server that 'agentd mcp add' has added",
          "Exit code 4 if there is none.",
          {kSet},
          {"agentd mcp remove files"},
          1,
          1,
          {},
          mcp_remove_command};
}

CommandSpec import_spec() {
  return {"mcp import",
          "FILE",
          "add the servers of another agent's settings",
          "Settings that agentd has no counterpart for are named. Keys that the file has come along.",
          {{"from", 0, "AGENT", "the agent that the settings are of; otherwise by the file's name",
            "claude|codex|gemini|vscode"},
           {"dry-run", 0, {}, "only say what would be imported"},
           kSet},
          {"agentd mcp import ~/.claude.json", "agentd mcp import ~/.codex/config.toml --dry-run"},
          1,
          1,
          {},
          mcp_import_command};
}

}  // namespace

std::vector<CommandSpec> mcp_commands() {
  return {add_spec(), list_spec(), show_spec(), trust_spec(), untrust_spec(), remove_spec(), import_spec()};
}

}  // namespace agentd::app
