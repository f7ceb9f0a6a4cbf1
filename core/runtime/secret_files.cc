// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/secret_files.h"

#include "core/runtime/credentials.h"
#include "core/runtime/secrets_setup.h"

namespace agentd {

std::string serve_token_file(const std::string& home) { return home + "/serve.token"; }
std::string serve_tokens_file(const std::string& home) { return home + "/serve.tokens"; }

std::string mcp_servers_file(const std::string& home) { return home + "/mcp.json"; }

std::vector<std::string> secret_files(const std::string& home) {
  return {Credentials::file(home),         secrets_key_file(home), serve_token_file(home),
          serve_token_file(home) + ".new",  // while it is made
          serve_tokens_file(home),         mcp_servers_file(home)};
}

}  // namespace agentd
