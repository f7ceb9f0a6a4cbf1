// SPDX-License-Identifier: Apache-2.0
#pragma once
// mcp_shown.h - the settings of a server of the Model Context Protocol without what may be a secret, for lists and
// warnings.
//
// Threading: pure functions.

#include <string>
#include <vector>

#include "core/config/mcp_settings.h"

namespace agentd {

// The arguments of a command, where the values of options and names such as --api-key and PASSWORD=, addresses, and
// words that look like a secret are shown by without_literals().
std::vector<std::string> shown_mcp_args(const std::vector<std::string>& args);

// The server with its values so: no value of a variable or a header is shown, nor a secret of its arguments and
// address.
McpServerSettings without_secrets(McpServerSettings server);

// Where the server's settings have what may be a secret as it is: "the header Authorization", "the variable API_KEY",
// "the argument '--token=***'", "the address https://***@example.org". Empty = nowhere.
std::vector<std::string> written_secrets(const McpServerSettings& server);

}  // namespace agentd
