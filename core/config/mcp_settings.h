// SPDX-License-Identifier: Apache-2.0
#pragma once
// mcp_settings.h - servers of the Model Context Protocol as settings and files describe them; one reader for all.
//
// A server is an object with the members that other agents know (command, args, env, cwd, url, headers, type), and
// those of agentd's own: what it may use besides, and how far it is believed. ${NAME} and ${NAME:-TEXT} in command,
// args, env, url and headers stand for an environment variable of the user's.
// Source of the common members: the file .mcp.json of Claude Code, and mcp.json of VS Code.
//
// Threading: values and pure functions.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/clock.h"
#include "core/base/result.h"
#include "core/codec/json.h"
#include "core/config/config.h"

namespace agentd {

struct McpServerSettings {
  enum class Origin : std::uint8_t {
    kSettings,  // mcp.servers.NAME
    kUserFile,  // HOME/mcp.json, which `agentd mcp add` writes
    kProject,   // .mcp.json at the project's root
    kClient,    // an editor's
  };
  std::string name;
  Origin origin = Origin::kSettings;
  std::string place;  // "/home/ann/.agent/config.yaml:7", or a file

  std::string command{};
  std::vector<std::string> args{};
  std::map<std::string, std::string> env{};
  std::vector<std::string> pass_environment{};  // variables of the user's, by name
  std::string cwd{};                            // empty = the project's root
  std::string url{};                            // instead of a command
  std::map<std::string, std::string> headers{};
  bool enabled = true;
  bool per_session = false;  // scope: session
  bool sandbox = true;       // false: with all rights of the user
  bool trust_annotations = false;
  std::vector<std::string> tools{};         // patterns of names; empty = all
  std::vector<std::string> except_tools{};  // patterns of those that are left out
  std::vector<std::string> network{}, readable{}, writable{};
  Milliseconds start_timeout{30'000}, timeout{600'000};
};

std::string_view name_of(McpServerSettings::Origin origin);

// True for a header that the transport sets itself, which no server's settings can have: "Content-Length", "Accept".
bool is_mcp_transport_header(std::string_view name);

// The fault of a name, as the rest of a sentence that begins with it; empty = it can be one.
std::string wrong_mcp_server_name(std::string_view name);
// A server of that name. kInvalid: the message begins with the member, such as "args must be a list of texts".
Result<McpServerSettings> read_mcp_server(const std::string& name, JsonView value);

struct McpFile {
  struct Fault {
    std::string name, why;  // "FILE: mcpServers.NAME: args must be ..."
  };
  std::vector<McpServerSettings> servers;
  std::vector<Fault> faults;
};
// {"mcpServers": {NAME: server, ...}}, or "servers": a server that is wrong is a fault, and the others are there.
// kInvalid: the text is no such file.
Result<McpFile> read_mcp_entries(std::string_view text, const std::string& path, McpServerSettings::Origin origin);
// The same, where one fault is the error of all.
Result<std::vector<McpServerSettings>> read_mcp_file(std::string_view text, const std::string& path,
                                                     McpServerSettings::Origin origin);
// mcp.servers.* of the settings. kInvalid with the place of the first one that is wrong.
Result<std::vector<McpServerSettings>> mcp_servers_of(const Config& config);

// The server as JSON: every member that is not as usual, in a fixed order.
std::string mcp_server_json(const McpServerSettings& server, JsonWriter::Layout layout = JsonWriter::Layout::kCompact);

// The text with its variables. kNotFound: "the variable NAME is not set", of one without TEXT.
Result<std::string> with_variables(std::string_view text, const Environment& environment);

}  // namespace agentd
