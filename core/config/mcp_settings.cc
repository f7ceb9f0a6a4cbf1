// SPDX-License-Identifier: Apache-2.0
#include "core/config/mcp_settings.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "core/base/bytes.h"
#include "core/base/nearest.h"

namespace agentd {
namespace {

constexpr std::size_t kShownNameBytes = 80, kServersMax = 200, kNameMax = 32;
constexpr std::int64_t kTimeMax = 24 * 3'600'000;

using Fault = std::string;  // the rest of a sentence; empty = none

Error invalid(std::string message) { return {Code::kInvalid, std::move(message)}; }

Fault read_text(JsonView value, std::string& out) {
  if (!value.is_string()) return "must be a text";
  out = value.string_or("");
  return out.find('\0') == std::string::npos ? Fault() : "must not have a NUL";
}

Fault read_texts(JsonView value, std::vector<std::string>& out) {
  if (!value.is_array()) return "must be a list of texts";
  for (std::size_t i = 0; i < value.size(); ++i)
    if (Fault fault = read_text(value.at(i), out.emplace_back()); !fault.empty()) return "must be a list of texts";
  return {};
}

// Numbers and booleans are what YAML makes of a text without quotes.
Fault read_map(JsonView value, std::map<std::string, std::string>& out) {
  if (!value.is_object()) return "must be an object of texts";
  for (std::size_t i = 0; i < value.size(); ++i) {
    const JsonView each = value.at(i);
    const std::string name(value.key_at(i));
    if (name.empty() || name.find_first_of(std::string_view("=\0\r\n:", 5)) != std::string::npos)
      return "has a name that cannot be one: '" + one_line(name, kShownNameBytes) + "'";
    std::string& text = out[name];
    if (each.is_number() || each.is_bool())
      text = each.text();
    else if (!read_text(each, text).empty())
      return "must be an object of texts";
    if (text.find_first_of("\r\n") != std::string::npos) return "must not have a line end in '" + name + "'";
  }
  return {};
}

// The transport sets these itself: others would contradict it, or end what it has begun.
constexpr std::string_view kHeadersOfTransport[] = {
    "accept",   "connection",           "content-length", "content-type",     "host", "last-event-id", "mcp-method",
    "mcp-name", "mcp-protocol-version", "mcp-session-id", "transfer-encoding"};

Fault read_headers(JsonView value, std::map<std::string, std::string>& out) {
  if (Fault fault = read_map(value, out); !fault.empty()) return fault;
  for (const auto& [name, unused] : out)
    if (is_mcp_transport_header(name))
      return "must not have '" + one_line(name, kShownNameBytes) + "', which agentd sets itself: omit it";
  return {};
}

Fault read_flag(JsonView value, bool& out) {
  if (!value.is_bool()) return "must be true or false";
  out = value.bool_or(false);
  return {};
}

Fault read_time(JsonView value, Milliseconds& out) {
  const std::int64_t time = value.int_or(0);
  if (!value.is_number() || time < 1 || time > kTimeMax) return "must be a whole number of milliseconds, at most a day";
  out = Milliseconds(time);
  return {};
}

Fault read_scope(JsonView value, McpServerSettings& out) {
  const std::string_view scope = value.string_or("");
  if (scope != "workplace" && scope != "session") return "must be workplace or session";
  out.per_session = scope == "session";
  return {};
}

Fault read_type(JsonView value) {
  const std::string_view type = value.string_or("");
  if (type == "sse") return "sse is the transport of 2024, which agentd does not have: use the server's http address";
  const bool known = type == "stdio" || type == "http" || type == "streamable-http" || type == "streamableHttp";
  return known ? Fault() : "must be stdio or http";
}

struct Member {
  std::string_view name;
  Fault (*read)(JsonView, McpServerSettings&);
};

constexpr std::array kMembers{
    Member{"type", [](JsonView value, McpServerSettings&) { return read_type(value); }},
    Member{"command", [](JsonView value, McpServerSettings& out) { return read_text(value, out.command); }},
    Member{"args", [](JsonView value, McpServerSettings& out) { return read_texts(value, out.args); }},
    Member{"env", [](JsonView value, McpServerSettings& out) { return read_map(value, out.env); }},
    Member{"pass_environment",
           [](JsonView value, McpServerSettings& out) { return read_texts(value, out.pass_environment); }},
    Member{"cwd", [](JsonView value, McpServerSettings& out) { return read_text(value, out.cwd); }},
    Member{"url", [](JsonView value, McpServerSettings& out) { return read_text(value, out.url); }},
    Member{"headers", [](JsonView value, McpServerSettings& out) { return read_headers(value, out.headers); }},
    Member{"enabled", [](JsonView value, McpServerSettings& out) { return read_flag(value, out.enabled); }},
    Member{"scope", read_scope},
    Member{"sandbox", [](JsonView value, McpServerSettings& out) { return read_flag(value, out.sandbox); }},
    Member{"trust_annotations",
           [](JsonView value, McpServerSettings& out) { return read_flag(value, out.trust_annotations); }},
    Member{"tools", [](JsonView value, McpServerSettings& out) { return read_texts(value, out.tools); }},
    Member{"except_tools", [](JsonView value, McpServerSettings& out) { return read_texts(value, out.except_tools); }},
    Member{"network", [](JsonView value, McpServerSettings& out) { return read_texts(value, out.network); }},
    Member{"readable", [](JsonView value, McpServerSettings& out) { return read_texts(value, out.readable); }},
    Member{"writable", [](JsonView value, McpServerSettings& out) { return read_texts(value, out.writable); }},
    Member{"start_timeout_ms",
           [](JsonView value, McpServerSettings& out) { return read_time(value, out.start_timeout); }},
    Member{"timeout_ms", [](JsonView value, McpServerSettings& out) { return read_time(value, out.timeout); }},
};

std::vector<std::string> member_names() {
  std::vector<std::string> out;
  for (const Member& member : kMembers) out.emplace_back(member.name);
  return out;
}

Fault unknown(std::string_view name) { return "is no member of a server" + did_you_mean(name, member_names()); }

Fault read_member(std::string_view name, JsonView value, McpServerSettings& out) {
  const auto member =
      std::find_if(kMembers.begin(), kMembers.end(), [&](const Member& each) { return each.name == name; });
  return member == kMembers.end() ? unknown(name) : member->read(value, out);
}

void write_texts(JsonWriter& out, std::string_view name, const std::vector<std::string>& texts) {
  if (texts.empty()) return;
  out.key(name).begin_array();
  for (const std::string& text : texts) out.string(text);
  out.end_array();
}

void write_map(JsonWriter& out, std::string_view name, const std::map<std::string, std::string>& map) {
  if (map.empty()) return;
  out.key(name).begin_object();
  for (const auto& [key, text] : map) out.member(key, text);
  out.end_object();
}

bool is_name(std::string_view text) {
  return !text.empty() && std::isdigit(static_cast<unsigned char>(text.front())) == 0 &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
}

// The value of "mcp.servers.NAME.MEMBER", a key of its own: a sentence that says what to write; empty = it is none.
std::string wrong_key(std::string_view name, JsonView value) {
  const std::size_t dot = name.find('.');
  if (dot == std::string_view::npos) return {};
  const std::string member = one_line(name.substr(dot + 1), kShownNameBytes);
  const std::vector<std::string> known = member_names();
  const bool is_known = std::find(known.begin(), known.end(), member) != known.end();
  if (!is_known && value.is_object()) return {};  // a server with a wrong name
  const std::string whole =
      "--set 'mcp.servers." + one_line(name.substr(0, dot), kShownNameBytes) + "={command: PROGRAM, args: [...]}'";
  if (is_known) return "a member of a server cannot be set by itself: set the whole server, " + whole;
  const std::string meant = nearest(member, known);
  return "'" + member + "' is no member of a server" + (meant.empty() ? "" : " (did you mean '" + meant + "'?)") +
         ", which has " + join(known, ", ") + ": set the whole server, " + whole;
}

}  // namespace

bool is_mcp_transport_header(std::string_view name) {
  const auto is = [low = ascii_lower(name)](std::string_view each) { return low == each; };
  return std::any_of(std::begin(kHeadersOfTransport), std::end(kHeadersOfTransport), is);
}

std::string_view name_of(McpServerSettings::Origin origin) {
  switch (origin) {
    case McpServerSettings::Origin::kSettings:
      return "settings";
    case McpServerSettings::Origin::kUserFile:
      return "user";
    case McpServerSettings::Origin::kProject:
      return "project";
    case McpServerSettings::Origin::kClient:
      return "editor";
  }
  return "settings";
}

// Two "_" in a row would let two servers have one tool (mcp__SERVER__TOOL).
std::string wrong_mcp_server_name(std::string_view name) {
  if (name.empty() || name.size() > kNameMax) return "must have 1 to " + std::to_string(kNameMax) + " characters";
  const bool fits = std::all_of(name.begin(), name.end(),
                                [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '-'; });
  if (!fits) return "must be made of letters, digits, '_' and '-'";
  const bool doubtful = name.find("__") != std::string_view::npos || name.ends_with('_');
  return doubtful ? "must not have two '_' in a row, nor one at its end" : "";
}

Result<McpServerSettings> read_mcp_server(const std::string& name, JsonView value) {
  McpServerSettings out;
  out.name = name;
  if (const std::string fault = wrong_mcp_server_name(name); !fault.empty())
    return invalid("the name of a server " + fault);
  if (!value.is_object()) return invalid("a server must be an object with a command or a url");
  for (std::size_t i = 0; i < value.size(); ++i) {
    const std::string_view member = value.key_at(i);
    if (const Fault fault = read_member(member, value.at(i), out); !fault.empty())
      return invalid(one_line(member, kShownNameBytes) + " " + fault);
  }
  if (out.command.empty() == out.url.empty())
    return invalid(out.url.empty() ? "a server must have a command or a url"
                                   : "a server has a command or a url, not both");
  const bool of_program = !out.args.empty() || !out.env.empty() || !out.pass_environment.empty() || !out.cwd.empty();
  if (!out.url.empty() && of_program)
    return invalid("args, env, pass_environment and cwd are of a command, and this server has a url");
  if (out.url.empty() && !out.headers.empty()) return invalid("headers are of a url, and this server has a command");
  return out;
}

Result<McpFile> read_mcp_entries(std::string_view text, const std::string& path, McpServerSettings::Origin origin) {
  const auto json = JsonDocument::parse(text);
  if (!json) return invalid(path + ": " + json.error().message);
  const char* const key = json->root()["mcpServers"].exists() ? "mcpServers" : "servers";
  const JsonView servers = json->root()[key];
  if (!servers.is_object()) return invalid(path + " must be an object with 'mcpServers', an object of servers by name");
  if (servers.size() > kServersMax) return invalid(path + " has more than " + std::to_string(kServersMax) + " servers");
  McpFile out;
  std::map<std::string, int> times;
  for (std::size_t i = 0; i < servers.size(); ++i) ++times[std::string(servers.key_at(i))];
  for (std::size_t i = 0; i < servers.size(); ++i) {
    const std::string name(servers.key_at(i)), shown = one_line(name, kShownNameBytes);
    if (times[name] > 1) {  // which of them is meant is not known
      out.faults.push_back({name, path + ": " + key + " has '" + shown + "' twice"});
      times[name] = 0;
    }
    if (times[name] == 0) continue;
    auto read = read_mcp_server(name, servers.at(i));
    if (!read) {
      out.faults.push_back({name, path + ": " + key + "." + shown + ": " + read.error().message});
      continue;
    }
    read->origin = origin;
    read->place = path;
    out.servers.push_back(std::move(*read));
  }
  return out;
}

Result<std::vector<McpServerSettings>> read_mcp_file(std::string_view text, const std::string& path,
                                                     McpServerSettings::Origin origin) {
  AGENTD_TRY(McpFile file, read_mcp_entries(text, path, origin));
  if (!file.faults.empty()) return invalid(std::move(file.faults.front().why));
  return std::move(file.servers);
}

Result<std::vector<McpServerSettings>> mcp_servers_of(const Config& config) {
  std::vector<McpServerSettings> out;
  for (const std::string& name : config.mcp_server_names()) {
    const std::string key = "mcp.servers." + name;
    const auto json = JsonDocument::parse(config.json(key));
    if (!json) return invalid(config.origin(key) + ": " + key + ": " + json.error().message);
    if (const std::string wrong = wrong_key(name, json->root()); !wrong.empty())
      return invalid(config.origin(key) + ": " + key + ": " + wrong);
    auto read = read_mcp_server(name, json->root());
    if (!read) return invalid(config.origin(key) + ": " + key + ": " + read.error().message);
    read->place = config.origin(key);
    out.push_back(std::move(*read));
  }
  return out;
}

std::string mcp_server_json(const McpServerSettings& server, JsonWriter::Layout layout) {
  const McpServerSettings usual;
  JsonWriter out(layout);
  out.begin_object().optional("command", server.command);
  write_texts(out, "args", server.args);
  write_map(out, "env", server.env);
  write_texts(out, "pass_environment", server.pass_environment);
  out.optional("cwd", server.cwd).optional("url", server.url);
  write_map(out, "headers", server.headers);
  if (!server.enabled) out.member("enabled", false);
  if (server.per_session) out.member("scope", "session");
  if (!server.sandbox) out.member("sandbox", false);
  if (server.trust_annotations) out.member("trust_annotations", true);
  write_texts(out, "tools", server.tools);
  write_texts(out, "except_tools", server.except_tools);
  write_texts(out, "network", server.network);
  write_texts(out, "readable", server.readable);
  write_texts(out, "writable", server.writable);
  if (server.start_timeout != usual.start_timeout) out.member("start_timeout_ms", server.start_timeout.count());
  if (server.timeout != usual.timeout) out.member("timeout_ms", server.timeout.count());
  out.end_object();
  return std::string(out.text());
}

Result<std::string> with_variables(std::string_view text, const Environment& environment) {
  std::string out;
  while (!text.empty()) {
    const std::size_t begin = text.find("${"), end = text.find('}', begin);
    out += text.substr(0, begin);
    if (begin == std::string_view::npos) return out;
    const std::string_view inside = text.substr(begin + 2, end == std::string_view::npos ? end : end - begin - 2);
    const std::size_t bar = inside.find(":-");
    const std::string name(inside.substr(0, bar));
    if (end == std::string_view::npos || !is_name(name))
      return invalid("'" + one_line(text.substr(begin), kShownNameBytes) + "' must be ${NAME} or ${NAME:-TEXT}");
    const std::optional<std::string> value = environment ? environment(name) : std::nullopt;
    if (value && !(value->empty() && bar != std::string_view::npos))
      out += *value;
    else if (bar != std::string_view::npos)
      out += inside.substr(bar + 2);
    else
      return Error{Code::kNotFound, "the variable " + name + " is not set"};
    text.remove_prefix(end + 1);
  }
  return out;
}

}  // namespace agentd
