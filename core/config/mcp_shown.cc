// SPDX-License-Identifier: Apache-2.0
#include "core/config/mcp_shown.h"

#include <algorithm>
#include <cctype>

#include "core/config/mcp_address.h"
#include "core/config/secret_words.h"

namespace agentd {
namespace {

constexpr std::string_view kBetweenParts = "/,;&| \t\n'\"";

// A word of a base64 or an identifier, not a name of a file or a host.
bool is_one_word(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '+'; });
}

std::string shown_parts(std::string_view text) {
  std::string out;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t end = std::min(find_outside_variables(text, kBetweenParts, from), text.size());
    const std::string_view part = text.substr(from, end - from);
    out += is_one_word(part) && looks_secret(part) ? without_literals(part) : std::string(part);
    if (end < text.size()) out += text[end];
    from = end + 1;
  }
  return out;
}

// "NAME=VALUE", "NAME: VALUE", an address, or a text, and each of them as such a value.
std::string shown_argument(std::string_view text) {
  const std::size_t between = find_outside_variables(text, "=:"), scheme = text.find("://");
  if (between == std::string_view::npos) return shown_parts(text);
  if (between == scheme) return shown_mcp_url(text);
  const std::string_view name = text.substr(0, between), value = text.substr(between + 1);
  const bool path = name.find('/') != std::string_view::npos;  // "registry.example.org/auth:latest"
  const bool named = is_secret_name(name) && !path;
  std::string out = shown_parts(name) + text[between];
  return out + (named                      ? without_literals(value)
                : name.ends_with("sha256") ? std::string(value)
                                           : shown_argument(value));
}

bool takes_secret(std::string_view option) {
  return option.starts_with('-') && !option.starts_with("--no-") && is_one_word(option) && is_secret_name(option);
}

// Where a name says that a value is secret, all of it is; otherwise it has to look so.
bool has_secret(const std::string& name, const std::string& value) {
  return (is_secret_name(name) ? without_literals(value) : shown_argument(value)) != value;
}

}  // namespace

std::vector<std::string> shown_mcp_args(const std::vector<std::string>& args) {
  std::vector<std::string> out;
  bool secret = false;  // the value of the option before
  for (const std::string& each : args) {
    const bool value = secret && !each.starts_with("--");
    out.push_back(value ? without_literals(each) : shown_argument(each));
    secret = !value && takes_secret(each);
  }
  return out;
}

McpServerSettings without_secrets(McpServerSettings server) {
  for (auto* const values : {&server.env, &server.headers})
    for (auto& [name, value] : *values) value = without_literals(value);
  server.args = shown_mcp_args(server.args);
  server.url = shown_mcp_url(server.url);
  return server;
}

std::vector<std::string> written_secrets(const McpServerSettings& server) {
  std::vector<std::string> out;
  for (const auto& [name, value] : server.headers)
    if (has_secret(name, value)) out.push_back("the header " + name);
  for (const auto& [name, value] : server.env)
    if (has_secret(name, value)) out.push_back("the variable " + name);
  const std::vector<std::string> args = shown_mcp_args(server.args);
  for (std::size_t i = 0; i < args.size(); ++i)
    if (args[i] != server.args[i])
      out.push_back("the argument " + (i > 0 && takes_secret(server.args[i - 1]) ? args[i - 1] + " " : "") + args[i]);
  if (const std::string url = shown_mcp_url(server.url); url != server.url) out.push_back("the address " + url);
  return out;
}

}  // namespace agentd
