// SPDX-License-Identifier: Apache-2.0
#include "core/workplace/mcp_setup.h"

#include <sys/stat.h>

#include <algorithm>

#include "core/base/bytes.h"
#include "core/base/file.h"
#include "core/base/hash.h"
#include "core/base/shell_word.h"
#include "core/config/mcp_address.h"
#include "core/runtime/secret_files.h"
#include "core/trust/trust_store.h"
#include "core/workplace/cage_setup.h"
#include "core/workplace/hook_setup.h"
#include "core/workplace/mcp_scripts.h"

namespace agentd {
namespace {

constexpr std::uint64_t kServersFileBytesMax = 1u << 20;
constexpr std::size_t kSecretBytesMin = 6;  // shorter values are no secrets, and would hide words of messages
// Variables of the user's that each server has. Source: the default environment of the official clients.
constexpr const char* kUsualVariables[] = {"HOME", "LANG",  "LC_ALL", "LC_CTYPE", "LOGNAME",
                                           "PATH", "SHELL", "TERM",   "TZ",       "USER"};

// Nothing where there is no such file. A pipe or a device is none.
Result<McpFile> servers_of_file(const std::string& path, McpServerSettings::Origin origin) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return McpFile();
  if (!S_ISREG(info.st_mode)) return Error{Code::kInvalid, path + " is not a regular file, so it is not read"};
  AGENTD_TRY(const std::string text, read_file(path, kServersFileBytesMax));
  return read_mcp_entries(text, path, origin);
}

McpServerHere wrong(const McpFile::Fault& fault, const std::string& place) {
  McpServerHere out{{}, {}};
  out.settings.name = fault.name;
  out.settings.origin = McpServerSettings::Origin::kProject;
  out.settings.place = place;
  out.off = out.wrong = true;
  out.why = fault.why;
  return out;
}

bool has(const std::vector<McpServerHere>& servers, const std::string& name) {
  return std::any_of(servers.begin(), servers.end(), [&](const auto& each) {
    return ascii_lower(each.settings.name) == ascii_lower(name);  // rules ignore case
  });
}

McpServerHere here(McpServerSettings settings, std::vector<std::string>& problems) {
  McpServerHere out{std::move(settings), {}};
  out.definition = hex(sha256(mcp_server_json(out.settings)));
  out.off = !out.settings.enabled;
  if (out.off) out.why = "enabled is false";
  if (out.off || out.settings.url.empty()) return out;
  if (const auto usable = check_mcp_url(out.settings.url); !usable) {
    out.off = true;
    out.why = "its address cannot be used: url: " + usable.error().message;
    problems.push_back(out.settings.place + ": the server " + out.settings.name + ": url: " + usable.error().message +
                       "; this server is not used");
  }
  return out;
}

// Why it is not as it was trusted; empty = it is.
std::string news_of(const McpServerHere& server, const McpConsent* known) {
  if (known == nullptr || known->definition.empty()) return "you have not trusted it yet";
  if (known->definition != server.definition) return "it has changed since you trusted it";
  for (const auto& [some, others] : {std::pair(&server.files, &known->files), std::pair(&known->files, &server.files)})
    for (const McpConsent::File& file : *some)
      if (std::find(others->begin(), others->end(), file) == others->end())
        return one_line(file.path, 200) + ", which its command names, has changed since you trusted it";
  return {};
}

void judge(McpServerHere& server, const McpConsents& consents, const Project& project) {
  server.files = mcp_scripts_of(server.settings, project.root);
  const std::string news = news_of(server, consents.find(server.settings.name, server.repository));
  server.waits = !news.empty();
  if (server.waits)
    server.why = news + "; " + shell_command("agentd mcp trust", server.settings.name) + " shows and trusts it";
}

std::vector<std::string> expanded(const std::vector<std::string>& paths, const std::string& user_home,
                                  const std::string& root) {
  std::vector<std::string> out;
  for (const std::string& path : paths)
    out.push_back(path == "~" || path.starts_with("~/") ? user_home + path.substr(1)
                  : path == "."                         ? root
                  : path.starts_with('/')               ? path
                                                        : root + "/" + path);
  return out;
}

bool is_at_or_below(const std::string& path, const std::string& root) {
  return path.starts_with(root) && (path.size() == root.size() || root.ends_with('/') || path[root.size()] == '/');
}

// A server reads the workspace, and writes where its settings let it. A place of the workspace is guarded as for
// commands.
std::shared_ptr<CommandCage> cage_of(const ProcessSurroundings& surroundings, const Config& config,
                                     const std::string& home, const Project& project,
                                     const std::vector<std::string>& roots, const McpServerSettings& server) {
  cage::CageSettings settings =
      cage_settings(surroundings, config, home, {}, kept_paths(surroundings, config, home, project));
  settings.readable.insert(settings.readable.end(), roots.begin(), roots.end());
  for (std::string& path : expanded(server.readable, settings.user_home, project.root))
    settings.readable.push_back(std::move(path));
  for (std::string& path : expanded(server.writable, settings.user_home, project.root)) {
    const bool guarded = std::any_of(roots.begin(), roots.end(), [&](const std::string& root) {
      return is_at_or_below(path, root) || is_at_or_below(root, path);
    });
    (guarded ? settings.roots : settings.writable).push_back(std::move(path));
  }
  settings.cache_name = "mcp " + server.name + ' ' + project.root;
  settings.network = server.network;
  settings.all_network = server.network == std::vector<std::string>{"all"};
  if (settings.all_network) settings.network.clear();
  return make_cage(std::move(settings), config);
}

class Expander {
 public:
  Expander(const Environment& environment, const McpServerSettings& server)
      : environment_(environment), server_(server) {}
  Result<std::string> operator()(std::string_view member, std::string_view text) const {
    auto out = with_variables(text, environment_);
    if (!out) return Error{out.error().code, error_text(member, out.error().message)};
    return out;
  }
  std::string error_text(std::string_view member, const std::string& why) const {
    return server_.place + ": the server " + server_.name + ": " + std::string(member) + ": " + why;
  }

 private:
  const Environment& environment_;
  const McpServerSettings& server_;
};

void add_secret(std::vector<std::string>& secrets, const std::string& value) {
  if (value.size() >= kSecretBytesMin) secrets.push_back(value);
}

Result<void> add_program(mcp::ServerSetup& out, const ProcessSurroundings& surroundings, const Project& project,
                         const McpServerSettings& server, const Expander& expand) {
  AGENTD_TRY(std::string program, expand("command", server.command));
  if (program != server.command) add_secret(out.secrets, program);
  out.argv.push_back(std::move(program));
  for (const std::string& each : server.args) {
    AGENTD_TRY(std::string argument, expand("args", each));
    if (argument != each) add_secret(out.secrets, argument);
    out.argv.push_back(std::move(argument));
  }
  const std::string user_home = surroundings.environment("HOME").value_or("");
  out.cwd = server.cwd.empty() ? project.root : expanded({server.cwd}, user_home, project.root).front();
  std::map<std::string, std::string> variables;
  for (const char* const name : kUsualVariables)
    if (auto value = surroundings.environment(name)) variables[name] = std::move(*value);
  for (const std::string& name : server.pass_environment)
    if (auto value = surroundings.environment(name)) {
      add_secret(out.secrets, *value);
      variables[name] = std::move(*value);
    }
  for (const auto& [name, text] : server.env) {
    AGENTD_TRY(std::string value, expand("env." + name, text));
    add_secret(out.secrets, value);
    variables[name] = std::move(value);
  }
  for (const auto& [name, value] : variables) out.environment.push_back(name + "=" + value);
  return {};
}

// Headers are keys as a rule, and what a tool is given is the user's.
Result<void> add_address(mcp::ServerSetup& out, const McpServerSettings& server, const Expander& expand) {
  AGENTD_TRY(out.url, expand("url", server.url));
  if (out.url != server.url || shown_mcp_url(out.url) != out.url) add_secret(out.secrets, out.url);
  if (const auto usable = check_mcp_url(out.url); !usable)
    return Error{Code::kInvalid, expand.error_text("url", usable.error().message)};
  for (const auto& [name, text] : server.headers) {
    AGENTD_TRY(std::string value, expand("headers." + name, text));
    add_secret(out.secrets, value);
    out.headers.emplace_back(name, std::move(value));
  }
  return {};
}

// ServerSetup::identity, by the settings and the values that they stand for now.
std::string identity_of(const mcp::ServerSetup& setup, const McpServerSettings& server,
                        const std::vector<std::string>& roots) {
  JsonWriter out;
  out.begin_array().raw(mcp_server_json(server)).number(static_cast<int>(server.origin));
  out.string(setup.cwd).string(setup.url);
  for (const auto* const texts : {&setup.argv, &setup.environment, &roots}) {
    out.begin_array();
    for (const std::string& text : *texts) out.string(text);
    out.end_array();
  }
  for (const auto& [name, value] : setup.headers) out.string(name).string(value);
  out.end_array();
  return hex(sha256(out.text()));
}

}  // namespace

std::string mcp_file_of(const std::string& home) { return mcp_servers_file(home); }
std::string mcp_file_of(const Project& project) { return project.root + "/.mcp.json"; }

std::string mcp_files_state(const std::string& home, const Project& project) {
  return path_state(mcp_file_of(home)) + path_state(mcp_file_of(project));
}

Result<std::vector<McpServerHere>> mcp_servers_here(const Config& config, const std::string& home,
                                                    const Project& project, const McpConsents& consents,
                                                    std::vector<std::string>& problems) {
  std::vector<McpServerHere> out;
  AGENTD_TRY(std::vector<McpServerSettings> own, mcp_servers_of(config));
  for (McpServerSettings& each : own) out.push_back(here(std::move(each), problems));
  const auto add = [&](McpServerSettings settings, const std::string& repository) {
    McpServerHere server = here(std::move(settings), problems);
    server.repository = repository;
    if (has(out, server.settings.name)) {
      server.off = true;
      server.why = "another server of yours has its name";
    } else if (!server.off && server.settings.origin == McpServerSettings::Origin::kProject) {
      judge(server, consents, project);
    }
    out.push_back(std::move(server));
  };
  AGENTD_TRY(McpFile of_user, servers_of_file(mcp_file_of(home), McpServerSettings::Origin::kUserFile));
  if (!of_user.faults.empty()) return Error{Code::kInvalid, std::move(of_user.faults.front().why)};
  for (McpServerSettings& each : of_user.servers) add(std::move(each), {});
  if (!config.flag("mcp.project_servers")) return out;
  auto of_project = servers_of_file(mcp_file_of(project), McpServerSettings::Origin::kProject);
  if (!of_project) problems.push_back(of_project.error().message + "; its servers are not used");
  if (!of_project) return out;
  for (const McpFile::Fault& fault : of_project->faults) {
    problems.push_back(fault.why + "; this server is not used");
    if (!has(out, fault.name)) out.push_back(wrong(fault, mcp_file_of(project)));
  }
  if (of_project->servers.empty()) return out;
  AGENTD_TRY(const std::string repository, TrustStore::repository_key(project.root));
  for (McpServerSettings& each : of_project->servers) add(std::move(each), repository);
  return out;
}

Result<mcp::ServerSetup> mcp_server_setup(const ProcessSurroundings& surroundings, const Config& config,
                                          const std::string& home, const Project& project,
                                          const std::vector<std::string>& roots, const McpServerSettings& server) {
  mcp::ServerSetup out;
  out.name = server.name;
  out.start_timeout = server.start_timeout;
  out.call_timeout = server.timeout;
  out.trust_annotations = server.trust_annotations;
  out.tools = server.tools;
  out.except_tools = server.except_tools;
  const Expander expand(surroundings.environment, server);
  if (!server.url.empty()) {
    AGENTD_TRY_VOID(add_address(out, server, expand));
    out.identity = identity_of(out, server, roots);
    return out;
  }
  AGENTD_TRY_VOID(add_program(out, surroundings, project, server, expand));
  out.identity = identity_of(out, server, roots);
  if (server.sandbox) out.cage = cage_of(surroundings, config, home, project, roots, server);
  if (out.cage)
    out.start_hint = "; it runs in the sandbox: 'readable', 'writable' and 'network' of its settings open more to it";
  return out;
}

}  // namespace agentd
