// SPDX-License-Identifier: Apache-2.0
#pragma once
// mcp_import.h - servers of the Model Context Protocol from the settings of other agents.
//
// Comments and commas at the end of a list are read, as those agents read them. A member that agentd has no counterpart
// for is a problem, and never dropped without a word. Keys that stand in those settings come along as they are. Source:
// the settings files of Claude Code (.mcp.json, ~/.claude.json), Codex (config.toml), Gemini CLI (settings.json) and VS
// Code (mcp.json).
//
// Threading: pure functions.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/config/mcp_settings.h"

namespace agentd {

enum class McpDialect : std::uint8_t { kClaude, kCodex, kGemini, kVscode };
// "claude", "codex", "gemini", "vscode".
std::optional<McpDialect> find_mcp_dialect(std::string_view name);
// The form of a file by its name: config.toml, settings.json, .vscode/mcp.json; else Claude Code's.
McpDialect mcp_dialect_of(const std::string& path);

struct ImportedServers {
  std::vector<McpServerSettings> servers;
  std::vector<std::string> problems;  // "NAME: trust is not imported: ..."
};
// `project_root`: whose own servers in ~/.claude.json are taken too. kInvalid: the text is not of that form, or has no
// servers.
Result<ImportedServers> import_mcp_servers(std::string_view text, McpDialect dialect, const std::string& path,
                                           const std::string& project_root);

}  // namespace agentd
