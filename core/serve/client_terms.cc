// SPDX-License-Identifier: Apache-2.0
#include "core/serve/client_terms.h"

#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <set>

#include "core/base/file.h"
#include "core/base/hash.h"
#include "core/runtime/model_setup.h"
#include "core/runtime/provider_setup.h"
#include "core/runtime/provider_table.h"
#include "core/runtime/version.h"

namespace agentd::serve {
namespace {

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
std::string settings_text(const Config& config, std::set<std::string>& variables) {
  std::string out;
  const auto one = [&](std::string_view name, ValueType type) {
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
  return out;
}

std::string link_text(const char* path) {
  std::array<char, PATH_MAX> out{};
  const ssize_t bytes = ::readlink(path, out.data(), out.size());
  return bytes < 0 ? std::string() : std::string(out.data(), static_cast<std::size_t>(bytes));
}

// As the kernel says it: reading it by umask() would change it for a moment.
std::uint32_t own_umask() {
  constexpr std::string_view kLine = "\nUmask:";
  const std::string text = read_file("/proc/self/status", 64 << 10).value_or("");
  const std::size_t at = text.find(kLine);
  if (at == std::string::npos) return 0;
  return static_cast<std::uint32_t>(std::strtoul(text.c_str() + at + kLine.size(), nullptr, 8));
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
                      const std::string& token) {
  ClientTerms out{AGENTD_VERSION, build_text(), link_text("/proc/self/ns/mnt"), 0, {}};
  out.umask = own_umask();
  const auto table = load_model_table(home, config);
  const auto route = table ? model_in_force(config, *table) : Result<ModelRoute>(table.error());
  if (!route) return out;
  std::set<std::string> variables(std::begin(kVariables), std::end(kVariables));
  for (const ProviderRow& row : provider_rows()) {
    variables.emplace(row.key_variable);
    variables.emplace(row.other_variable);
  }
  std::string text = settings_text(config, variables);
  for (const std::string& name : variables)
    if (!name.empty())
      if (const auto value = environment(name)) add(text, name, *value);
  add(text, "provider", route->provider);
  add(text, "model", route->model);
  add(text, "models", read_file(model_table_file(home), 1u << 20).value_or(std::string()));
  add(text, "hooks", hooks ? "1" : "0");
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

}  // namespace agentd::serve
