// SPDX-License-Identifier: Apache-2.0
#pragma once
// mcp_setup.h - the servers of the Model Context Protocol in a project: from the settings, from mcp.json in the home
// directory, and from .mcp.json at the project's root, which the user has to agree to.
//
// Threading: pure functions on the file system.

#include <functional>
#include <string>
#include <vector>

#include "core/config/mcp_settings.h"
#include "core/runtime/surroundings.h"
#include "core/trust/mcp_consents.h"
#include "core/workplace/project.h"
#include "providers/mcp/server_setup.h"

namespace agentd {

struct McpServerHere {
  McpServerSettings settings;
  std::string definition;                 // SHA-256 of mcp_server_json(), hex
  std::string repository{};               // McpConsent::repository
  bool off = false;                       // by the settings, since another server has its name, or since it is wrong
  bool wrong = false;                     // it cannot be read: nothing but its name and place is known
  bool waits = false;                     // for the user's consent
  std::string why{};                      // of these: one clause
  std::vector<McpConsent::File> files{};  // of a server of the project: mcp_scripts_of()
};

// mcp.json of `agentd mcp add`, and the project's file.
std::string mcp_file_of(const std::string& home);
std::string mcp_file_of(const Project& project);
// Another text when one of these files has changed.
std::string mcp_files_state(const std::string& home, const Project& project);

// All of them, the user's first, by name. A file of the project's that cannot be read is a problem, and its servers are
// not there; a server in it that is wrong, and one with an address that no start can use, is a problem, and the others
// are there. kInvalid: the user's settings or file are wrong.
Result<std::vector<McpServerHere>> mcp_servers_here(const Config& config, const std::string& home,
                                                    const Project& project, const McpConsents& consents,
                                                    std::vector<std::string>& problems);

// Its command or address, in the sandbox of these roots. kInvalid, kNotFound: a variable or an address is wrong; a
// sentence about the server.
Result<mcp::ServerSetup> mcp_server_setup(const ProcessSurroundings& surroundings, const Config& config,
                                          const std::string& home, const Project& project,
                                          const std::vector<std::string>& roots, const McpServerSettings& server);

}  // namespace agentd
