// SPDX-License-Identifier: Apache-2.0
#pragma once
// secret_files.h - the files of agentd's home that no tool, no message and no instruction may show: keys of providers,
// the key of placeholders, tokens of the daemon, MCP servers with theirs.
//
// Threading: pure functions.

#include <string>
#include <vector>

namespace agentd {

std::vector<std::string> secret_files(const std::string& home);

// The daemon's own token, and those of its clients (core/serve/tokens.h).
std::string serve_token_file(const std::string& home);
std::string serve_tokens_file(const std::string& home);
// The servers of `agentd mcp add`, whose variables and headers may have keys.
std::string mcp_servers_file(const std::string& home);

}  // namespace agentd
