// SPDX-License-Identifier: Apache-2.0
#include "core/acp/editor_servers.h"

#include <algorithm>
#include <cctype>

namespace agentd::acp {
namespace {

constexpr std::size_t kServersMax = 100, kNameMax = 32;

std::string name_here(std::string_view name) {
  std::string out;
  for (const char c : name.substr(0, kNameMax)) {
    const bool fits = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-';
    const char next = fits ? c : '-';
    if (next == '_' && out.ends_with('_')) continue;
    out += next;
  }
  while (out.ends_with('_')) out.pop_back();
  return out.empty() ? "server" : out;
}

// [{"name": "A", "value": "x"}] as an object.
Result<void> write_pairs(JsonWriter& out, std::string_view member, JsonView pairs) {
  if (!pairs.exists()) return {};
  if (!pairs.is_array()) return Error{Code::kInvalid, std::string(member) + " must be a list of names and values"};
  out.key(member).begin_object();
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const JsonView name = pairs.at(i)["name"], value = pairs.at(i)["value"];
    if (!name.is_string() || !value.is_string())
      return Error{Code::kInvalid, std::string(member) + " must be a list of names and values"};
    out.member(name.string_or(""), value.string_or(""));
  }
  out.end_object();
  return {};
}

Result<McpServerSettings> read_one(JsonView from, const std::string& name) {
  JsonWriter out;
  out.begin_object();
  for (const char* const member : {"type", "command", "args", "url"})
    if (from[member].exists()) out.key(member).value(from[member]);
  AGENTD_TRY_VOID(write_pairs(out, "env", from["env"]));
  if (from["url"].exists()) AGENTD_TRY_VOID(write_pairs(out, "headers", from["headers"]));
  out.end_object();
  AGENTD_TRY(const JsonDocument json, JsonDocument::parse(out.text()));
  AGENTD_TRY(McpServerSettings read, read_mcp_server(name, json.root()));
  read.origin = McpServerSettings::Origin::kClient;
  read.place = "the editor's settings";
  return read;
}

}  // namespace

Result<std::vector<McpServerSettings>> read_editor_servers(JsonView servers) {
  std::vector<McpServerSettings> out;
  if (servers.size() > kServersMax) return Error{Code::kInvalid, "'mcpServers' has more than 100 servers"};
  for (std::size_t i = 0; i < servers.size(); ++i) {
    const JsonView from = servers.at(i);
    if (!from["name"].is_string()) return Error{Code::kInvalid, "'mcpServers': a server must have a name"};
    const std::string name = name_here(from["name"].string_or(""));
    auto read = read_one(from, name);
    if (!read) return Error{Code::kInvalid, "'mcpServers': " + name + ": " + read.error().message};
    const bool known =
        std::any_of(out.begin(), out.end(), [&](const McpServerSettings& each) { return each.name == name; });
    if (known) return Error{Code::kInvalid, "'mcpServers': more than one server has the name " + name};
    out.push_back(std::move(*read));
  }
  return out;
}

}  // namespace agentd::acp
