// SPDX-License-Identifier: Apache-2.0
#include "core/serve/client_terms.h"

#include <limits.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>

#include "core/base/bytes.h"
#include "core/base/file.h"
#include "core/base/hash.h"
#include "core/runtime/model_setup.h"
#include "core/runtime/provider_setup.h"
#include "core/runtime/provider_table.h"
#include "core/runtime/version.h"

namespace agentd::serve {
namespace {

constexpr std::size_t kPartDigits = 16, kNamesBytes = 200;

// Where requests go and what is trusted on the way, besides the settings; HOME is where rules and secrets are.
constexpr std::string_view kVariables[] = {"HOME",        "XDG_CONFIG_HOME", "http_proxy",  "https_proxy",
                                           "HTTPS_PROXY", "all_proxy",       "ALL_PROXY",   "no_proxy",
                                           "NO_PROXY",    "SSL_CERT_FILE",   "SSL_CERT_DIR"};

void add(std::string& out, std::string_view name, std::string_view value) {
  out.append(name).append("=").append(std::to_string(value.size())).append(":").append(value).append("\n");
}

std::string value_of(const Config& config, std::string_view name, ValueType type) {
  if (type == ValueType::kAny) return config.json(name);
  if (type == ValueType::kList) {
    std::string out;
    for (const std::string& item : config.list(name)) add(out, {}, item);
    return out;
  }
  const std::vector<Candidate> all = config.candidates(name);
  return all.empty() ? std::string() : all.back().value.text;
}

// Every setting in use, whatever set it, but for the model, which counts as it is in force. The daemon's own say
// nothing about a run.
// The parts go by the first word of a key.
void add_settings(const Config& config, std::set<std::string>& variables, std::map<std::string, std::string>& parts) {
  const auto one = [&](std::string_view name, ValueType type) {
    std::string& out = parts[std::string(name.substr(0, name.find('.')))];
    const std::string value = value_of(config, name, type);
    if (type == ValueType::kVariable && !value.empty()) variables.insert(value);
    add(out, name, value);
    // For a model's own thresholds it counts where a value was set.
    const std::vector<Candidate> all = config.candidates(name);
    if (!all.empty()) out += std::to_string(static_cast<int>(all.back().layer)) + "\n";
  };
  for (const KeySpec& key : config_keys())
    if (key.name.find('*') == std::string_view::npos && !key.name.starts_with("serve.") && key.name != "provider" &&
        key.name != "model")
      one(key.name, key.type);
  for (const std::string& name : config.free_keys())
    if (const KeySpec* const key = find_key(name)) one(name, key->type);
}

std::string link_text(const char* path) {
  std::array<char, PATH_MAX> out{};
  const ssize_t bytes = ::readlink(path, out.data(), out.size());
  return bytes < 0 ? std::string() : std::string(out.data(), static_cast<std::size_t>(bytes));
}

// A file of /proc has no size.
std::string own_status() {
  std::ifstream file("/proc/self/status");
  return {std::istreambuf_iterator<char>(file), {}};
}

// The value of a line of /proc/self/status; empty = there is none.
std::string_view status_line(std::string_view status, std::string_view name) {
  const std::string line = "\n" + std::string(name) + ":";
  const std::size_t at = status.find(line);
  if (at == std::string_view::npos) return {};
  return status.substr(at + line.size(), status.find('\n', at + 1) - at - line.size());
}

// How the process is confined besides its view of files: a command that was started with less may not get the
// daemon's part. The number of descriptors is left out, which the daemon raises for itself.
std::string confinement_text(std::string_view status) {
  std::string out;
  for (const char* const name : {"net", "pid", "user", "ipc", "uts"})
    add(out, name, link_text((std::string("/proc/self/ns/") + name).c_str()));
  for (const char* const name : {"Uid", "Gid", "Groups", "NoNewPrivs", "CapBnd", "CapEff", "Seccomp"})
    add(out, name, status_line(status, name));
  struct stat root {};
  if (::stat("/", &root) == 0) add(out, "root", std::to_string(root.st_dev) + ":" + std::to_string(root.st_ino));
  for (const auto what : {RLIMIT_AS, RLIMIT_DATA, RLIMIT_FSIZE, RLIMIT_CPU}) {
    struct rlimit limit {};
    if (::getrlimit(what, &limit) == 0)
      add(out, "limit", std::to_string(limit.rlim_cur) + ":" + std::to_string(limit.rlim_max));
  }
  return out;
}

// Also of a file that was replaced while it runs.
std::string build_text() {
  struct stat file {};
  if (::stat("/proc/self/exe", &file) != 0) return {};
  return std::to_string(file.st_dev) + "-" + std::to_string(file.st_ino) + "-" + std::to_string(file.st_size) + "-" +
         std::to_string(file.st_mtim.tv_sec) + "." + std::to_string(file.st_mtim.tv_nsec);
}

}  // namespace

ClientTerms own_terms(const Config& config, const Environment& environment, const std::string& home, bool hooks,
                      const std::string& token, std::int64_t wall_ms) {
  ClientTerms out{AGENTD_VERSION, build_text(), link_text("/proc/self/ns/mnt"), 0, {}};
  const std::string status = own_status();
  // By umask() it would change for a moment.
  out.umask = static_cast<std::uint32_t>(std::strtoul(std::string(status_line(status, "Umask")).c_str(), nullptr, 8));
  const auto table = load_model_table(home, config);
  const auto route = table ? model_in_force(config, *table, wall_ms) : Result<ModelRoute>(table.error());
  if (!route) return out;
  std::set<std::string> variables(std::begin(kVariables), std::end(kVariables));
  for (const ProviderRow& row : provider_rows()) {
    variables.emplace(row.key_variable);
    variables.emplace(row.other_variable);
  }
  std::map<std::string, std::string> parts;
  add_settings(config, variables, parts);
  for (const std::string& name : variables)
    if (!name.empty())
      if (const auto value = environment(name)) add(parts[name], name, *value);
  add(parts["model"], route->provider, route->model);
  add(parts["base_url"], "owner", base_url_owner(config, *table).provider);
  add(parts["models.yaml"], {}, read_file(model_table_file(home), 1u << 20).value_or(std::string()));
  add(parts["--no-hooks"], {}, hooks ? "1" : "0");
  add(parts["limits or namespaces of the process"], {}, confinement_text(status));
  struct stat place {};
  if (::stat(home.c_str(), &place) == 0)
    add(parts["home directory"], {}, std::to_string(place.st_dev) + ":" + std::to_string(place.st_ino));
  std::string text;
  for (const auto& [name, part] : parts) {
    add(text, name, part);
    out.parts[name] = hex(hmac_sha256(token, name + "=" + part)).substr(0, kPartDigits);
  }
  out.settings = hex(hmac_sha256(token, text));
  return out;
}

TermsFit compare(const ClientTerms& client, const ClientTerms& daemon) {
  if (client.version != daemon.version || client.build != daemon.build) return TermsFit::kOtherVersion;
  if (client.mount_namespace != daemon.mount_namespace) return TermsFit::kOtherNamespace;
  if (client.umask != daemon.umask || client.settings.empty() || client.settings != daemon.settings)
    return TermsFit::kOtherSettings;
  return TermsFit::kSame;
}

std::string differences(const ClientTerms& client, const ClientTerms& daemon) {
  std::set<std::string> names;
  if (client.umask != daemon.umask) names.insert("umask");
  const auto part_of = [](const ClientTerms& terms, const std::string& name) {
    const auto found = terms.parts.find(name);
    return found == terms.parts.end() ? std::string() : found->second;
  };
  for (const auto& [name, sum] : client.parts)
    if (part_of(daemon, name) != sum) names.insert(name);
  for (const auto& [name, sum] : daemon.parts)
    if (part_of(client, name) != sum) names.insert(name);
  if (names.empty()) return "other settings";
  return "another " + one_line(join(std::vector<std::string>(names.begin(), names.end()), ", "), kNamesBytes);
}

}  // namespace agentd::serve
