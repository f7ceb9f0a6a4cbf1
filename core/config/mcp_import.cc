// SPDX-License-Identifier: Apache-2.0
#include "core/config/mcp_import.h"

#include <algorithm>
#include <cctype>

#include "core/base/bytes.h"
#include "core/codec/toml.h"
#include "core/config/mcp_address.h"
#include "core/dialects/json_places.h"

namespace agentd {
namespace {

constexpr std::size_t kShownImportBytes = 80;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

Error invalid_file(std::string message) { return {Code::kInvalid, std::move(message)}; }

std::string text_of(JsonView value) { return value.is_string() ? std::string(value.string_or("")) : value.text(); }

// A server in agentd's own form while it is put together; one reader checks it in the end.
class Translation {
 public:
  Translation(std::string name, std::vector<std::string>& problems) : name_(std::move(name)), problems_(problems) {
    out_.begin_object();
  }

  void keep(std::string_view member, JsonView value) { out_.key(member).value(value); }
  void text(std::string_view member, std::string_view value) { out_.member(member, value); }
  void texts(std::string_view member, const std::vector<std::string>& values) {
    out_.key(member).begin_array();
    for (const std::string& value : values) out_.string(value);
    out_.end_array();
  }
  void flag(std::string_view member, bool value) { out_.member(member, value); }
  void milliseconds(std::string_view member, double seconds) {
    out_.member(member, static_cast<std::int64_t>(seconds * 1000));
  }
  void header(const std::string& name, std::string value) {
    if (is_mcp_transport_header(name)) return problem("headers." + name, "agentd sets it itself");
    headers_.emplace_back(name, std::move(value));
  }
  void problem(std::string_view member, std::string_view why) {
    problems_.push_back(one_line(name_, kShownImportBytes) + ": " + one_line(member, kShownImportBytes) +
                        " is not imported" + (why.empty() ? "" : ": " + std::string(why)));
  }

  std::string json() {
    if (!headers_.empty()) {
      out_.key("headers").begin_object();
      for (const auto& [name, value] : headers_) out_.member(name, value);
      out_.end_object();
    }
    out_.end_object();
    return std::string(out_.text());
  }

 private:
  const std::string name_;
  std::vector<std::string>& problems_;
  JsonWriter out_;
  std::vector<std::pair<std::string, std::string>> headers_;
};

// A list of texts, as an element of a JSON list each.
std::vector<std::string> texts_of(JsonView list) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < list.size(); ++i) out.push_back(text_of(list.at(i)));
  return out;
}

// The tools that alone are offered. None at all is a list as well, where an empty list of agentd's means all.
void keep_only(Translation& out, JsonView names) {
  if (names.is_array() && names.size() == 0) return out.texts("except_tools", {"*"});
  out.keep("tools", names);
}

// "$NAME" of Gemini CLI as "${NAME}". Source: its documentation, where both forms are variables of the environment.
std::string with_braces(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at + 1;
    const auto is_of_name = [&] {
      const auto c = static_cast<unsigned char>(text[end]);
      return c == '_' || std::isalpha(c) != 0 || (end > at + 1 && std::isdigit(c) != 0);
    };
    while (text[at] == '$' && end < text.size() && is_of_name()) ++end;
    if (end > at + 1)
      out.append("${").append(text.substr(at + 1, end - at - 1)).append("}");
    else
      out += text[at];
    at = end;
  }
  return out;
}

// "${env:NAME}" of VS Code as "${NAME}".
std::string without_env(std::string_view text) {
  constexpr std::string_view kOfVscode = "${env:";
  std::string out;
  for (std::size_t at; (at = text.find(kOfVscode)) != std::string_view::npos;) {
    out.append(text.substr(0, at)).append("${");
    text.remove_prefix(at + kOfVscode.size());
  }
  return out.append(text);
}

using Converted = std::string (*)(std::string_view);

void write_converted(JsonWriter& out, JsonView value, Converted convert) {
  if (value.is_string()) {
    out.string(convert(value.string_or("")));
  } else if (value.is_array()) {
    out.begin_array();
    for (std::size_t i = 0; i < value.size(); ++i) write_converted(out, value.at(i), convert);
    out.end_array();
  } else if (value.is_object()) {
    out.begin_object();
    for (std::size_t i = 0; i < value.size(); ++i) {
      out.key(value.key_at(i));
      write_converted(out, value.at(i), convert);
    }
    out.end_object();
  } else {
    out.value(value);
  }
}

constexpr std::string_view kRules = "write rules of permissions instead, such as mcp__NAME__TOOL (docs/guide/mcp.md)";

bool is_common(std::string_view member) {
  constexpr std::string_view kCommon[] = {"command", "args", "env", "cwd"};
  return std::find(std::begin(kCommon), std::end(kCommon), member) != std::end(kCommon);
}

void add_headers(Translation& out, JsonView headers, std::string_view member) {
  if (!headers.is_object()) return out.problem(member, "it is no object");
  for (std::size_t i = 0; i < headers.size(); ++i) out.header(std::string(headers.key_at(i)), text_of(headers.at(i)));
}

void translate_claude(Translation& out, std::string_view member, JsonView value) {
  if (is_common(member) || member == "url" || member == "type") return out.keep(member, value);
  if (member == "headers") return add_headers(out, value, member);
  if (member == "timeout") return out.milliseconds("timeout_ms", value.number_or(0) / 1000);
  if (member == "disabled") return out.flag("enabled", !value.bool_or(false));
  out.problem(member, member == "headersHelper" ? "put the token into a variable, and write ${NAME}" : "");
}

void translate_codex(Translation& out, std::string_view member, JsonView value) {
  if (is_common(member) || member == "url" || member == "enabled") return out.keep(member, value);
  if (member == "env_vars") return out.keep("pass_environment", value);
  if (member == "enabled_tools") return keep_only(out, value);
  if (member == "disabled_tools") return out.keep("except_tools", value);
  if (member == "bearer_token_env_var") return out.header("Authorization", "Bearer ${" + text_of(value) + "}");
  if (member == "http_headers") return add_headers(out, value, member);
  if (member == "env_http_headers") {
    for (std::size_t i = 0; i < value.size(); ++i)
      out.header(std::string(value.key_at(i)), "${" + text_of(value.at(i)) + "}");
    return;
  }
  if (member == "startup_timeout_sec") return out.milliseconds("start_timeout_ms", value.number_or(0));
  if (member == "startup_timeout_ms") return out.keep("start_timeout_ms", value);
  if (member == "tool_timeout_sec") return out.milliseconds("timeout_ms", value.number_or(0));
  out.problem(member, "");
}

// "NAME(ARGUMENTS)" narrows a tool, for which agentd has rules: to offer all of it would be more than was meant.
void keep_whole_names(Translation& out, std::string_view member, JsonView names) {
  std::vector<std::string> whole;
  for (const std::string& name : texts_of(names)) {
    if (name.find('(') == std::string::npos)
      whole.push_back(name);
    else
      out.problem(std::string(member) + " " + name, kRules);
  }
  if (whole.empty()) whole.emplace_back("*");
  const bool none = whole.front() == "*";
  out.texts(none ? "except_tools" : "tools", whole);
}

void translate_gemini(Translation& out, std::string_view member, JsonView value) {
  if (is_common(member)) return out.keep(member, value);
  if (member == "httpUrl") return out.keep("url", value);
  if (member == "url") return out.problem(member, "it is of the transport of 2024: use the server's httpUrl");
  if (member == "headers") return add_headers(out, value, member);
  if (member == "timeout") return out.keep("timeout_ms", value);
  if (member == "includeTools" && value.is_array()) return keep_whole_names(out, member, value);
  if (member == "includeTools") return out.keep("tools", value);
  if (member == "excludeTools") return out.keep("except_tools", value);
  if (member == "description") return;  // for people
  if (member == "disabled") return out.flag("enabled", !value.bool_or(false));
  out.problem(member, member == "trust" ? kRules : "");
}

void translate_vscode(Translation& out, std::string_view member, JsonView value) {
  if (is_common(member) || member == "url" || member == "type") return out.keep(member, value);
  if (member == "headers") return add_headers(out, value, member);
  if (member == "gallery" || member == "version") return;  // of its list of servers
  if (member == "disabled") return out.flag("enabled", !value.bool_or(false));
  out.problem(member, member == "envFile" ? "put its variables into env" : "");
}

using Translate = void (*)(Translation&, std::string_view, JsonView);
Translate translator_of(McpDialect dialect) {
  switch (dialect) {
    case McpDialect::kClaude:
      return translate_claude;
    case McpDialect::kCodex:
      return translate_codex;
    case McpDialect::kGemini:
      return translate_gemini;
    case McpDialect::kVscode:
      return translate_vscode;
  }
  return translate_claude;
}

std::string_view list_of(McpDialect dialect) {
  return dialect == McpDialect::kCodex ? "mcp_servers" : dialect == McpDialect::kVscode ? "servers" : "mcpServers";
}

// A member with variables in agentd's form; nothing where it is as in agentd.
std::optional<JsonDocument> converted_member(McpDialect dialect, std::string_view member, JsonView value) {
  const bool gemini = dialect == McpDialect::kGemini && (member == "env" || member == "headers");
  if (!gemini && dialect != McpDialect::kVscode) return std::nullopt;
  JsonWriter out;
  write_converted(out, value, gemini ? with_braces : without_env);
  auto document = JsonDocument::parse(out.text());
  return document ? std::optional(std::move(*document)) : std::nullopt;
}

// Which members have the text: "its command", "its env".
std::string members_with(JsonView server, std::string_view text) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < server.size(); ++i)
    if (server.at(i).text().find(text) != std::string::npos) out.emplace_back(server.key_at(i));
  return "its " + join(out, " and its ");
}

std::string folder_problem(JsonView server) {
  constexpr std::string_view kFolder = "${workspaceFolder";
  const bool of_cwd = server["cwd"].text().find(kFolder) != std::string::npos;
  const std::string where = members_with(server, kFolder);
  if (where == "its cwd") return "its cwd has ${workspaceFolder}: omit it, since a server starts at the project's root";
  return where + (where.find(" and ") == std::string::npos ? " has" : " have") +
         " ${workspaceFolder}: write paths from the project's root, where a server starts" +
         (of_cwd ? ", and omit cwd" : "");
}

void import_all(JsonView servers, McpDialect dialect, const std::string& path, ImportedServers& out) {
  for (std::size_t i = 0; i < servers.size(); ++i) {
    const std::string name(servers.key_at(i));
    Translation translation(name, out.problems);
    const JsonView members = servers.at(i);
    for (std::size_t k = 0; k < members.size(); ++k) {
      const auto converted = converted_member(dialect, members.key_at(k), members.at(k));
      translator_of(dialect)(translation, members.key_at(k), converted ? converted->root() : members.at(k));
    }
    const std::string json = translation.json();
    const auto document = JsonDocument::parse(json);
    auto read = document ? read_mcp_server(name, document->root()) : Result<McpServerSettings>(document.error());
    const auto problem = [&](const std::string& why) {
      out.problems.push_back(one_line(name, kShownImportBytes) + " is not imported: " + why);
    };
    const bool known = std::any_of(out.servers.begin(), out.servers.end(), [&](const McpServerSettings& each) {
      return ascii_lower(each.name) == ascii_lower(name);
    });
    const auto usable = read && !read->url.empty() ? check_mcp_url(read->url) : Result<void>();
    if (!read)
      problem(read.error().message);
    else if (!usable)
      problem("url: " + usable.error().message);
    else if (known)
      problem("the file has another server of that name (upper and lower case are one)");
    else if (json.find("${input:") != std::string::npos)
      problem("it asks for ${input:...}: write a variable of the environment instead, as ${NAME}");
    else if (json.find("${workspaceFolder") != std::string::npos)
      problem(folder_problem(document->root()));
    else {
      read->place = path;
      out.servers.push_back(std::move(*read));
    }
  }
}

// Servers that the other agent keeps off, by lists beside the servers.
void turn_off(const std::vector<std::string>& names, ImportedServers& out) {
  for (McpServerSettings& server : out.servers)
    if (std::find(names.begin(), names.end(), server.name) != names.end()) server.enabled = false;
}

void turn_off_others(const std::vector<std::string>& names, ImportedServers& out) {
  for (McpServerSettings& server : out.servers)
    if (std::find(names.begin(), names.end(), server.name) == names.end()) server.enabled = false;
}

void take_lists(JsonView root, McpDialect dialect, const std::string& project_root, ImportedServers& out) {
  if (dialect == McpDialect::kGemini) {
    const JsonView lists = root["mcp"];
    for (const JsonView excluded : {lists["excluded"], root["excludeMCPServers"]}) turn_off(texts_of(excluded), out);
    for (const JsonView allowed : {lists["allowed"], root["allowMCPServers"]})
      if (allowed.is_array()) turn_off_others(texts_of(allowed), out);
  }
  if (dialect != McpDialect::kClaude) return;
  for (const JsonView place : {root, root["projects"][project_root]}) {
    turn_off(texts_of(place["disabledMcpServers"]), out);
    if (const JsonView disabled = place["disabledMcpjsonServers"]; disabled.size() > 0)
      out.problems.push_back(
          "disabledMcpjsonServers is not imported: " + one_line(join(texts_of(disabled), ", "), kShownImportBytes) +
          " of .mcp.json is not started anyway, unless you have run 'agentd mcp trust NAME'");
  }
}

}  // namespace

std::optional<McpDialect> find_mcp_dialect(std::string_view name) {
  if (name == "claude") return McpDialect::kClaude;
  if (name == "codex") return McpDialect::kCodex;
  if (name == "gemini") return McpDialect::kGemini;
  if (name == "vscode") return McpDialect::kVscode;
  return std::nullopt;
}

McpDialect mcp_dialect_of(const std::string& path) {
  if (path.ends_with(".toml")) return McpDialect::kCodex;
  if (path.ends_with(".gemini/settings.json")) return McpDialect::kGemini;
  if (path.ends_with(".vscode/mcp.json") || path.ends_with("/User/mcp.json")) return McpDialect::kVscode;
  return McpDialect::kClaude;
}

Result<ImportedServers> import_mcp_servers(std::string_view text, McpDialect dialect, const std::string& path,
                                           const std::string& project_root) {
  std::string converted;
  if (dialect == McpDialect::kCodex) {
    AGENTD_TRY(converted, toml_to_json(text, path));
  } else {
    if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
    converted = without_comments(text);
  }
  const auto json = JsonDocument::parse(converted);
  if (!json) return invalid_file(path + ": " + json.error().message);
  ImportedServers out;
  const std::string_view list = list_of(dialect);
  const JsonView all = json->root()[list], of_project = json->root()["projects"][project_root][list];
  import_all(all, dialect, path, out);
  import_all(of_project, dialect, path, out);
  take_lists(json->root(), dialect, project_root, out);
  if (!all.is_object() && !of_project.is_object())
    return invalid_file(path + " has no '" + std::string(list) + "' with servers");
  return out;
}

}  // namespace agentd
