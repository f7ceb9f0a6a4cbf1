// SPDX-License-Identifier: Apache-2.0
#pragma once
// mcp_scripts.h - the programs and scripts of a repository that the command of one of its servers names.
//
// The modules that they load are not known, nor scripts that an interpreter finds by another name than a path.
//
// Threading: pure functions on the file system.

#include <string>
#include <vector>

#include "core/config/mcp_settings.h"
#include "core/trust/mcp_consents.h"

namespace agentd {

// The regular files below `root`, by path: the command, and arguments (or what follows their '=') that are executable,
// begin with "#!" or end as scripts do; the first argument that is no option also where it has no ending. Words with
// variables are none. A file of more than 64 MiB, or one that cannot be read, is the same whatever it has.
std::vector<McpConsent::File> mcp_scripts_of(const McpServerSettings& server, const std::string& root);

}  // namespace agentd
