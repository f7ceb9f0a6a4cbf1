// SPDX-License-Identifier: Apache-2.0
#include "core/host/grants.h"

#include <agentd/ext/draft/process.h>
#include <agentd/ext/draft/provide.h>
#include <agentd/ext/draft/services.h>
#include <agentd/ext/draft/workspace.h>
#include <agentd/ext/field.h>
#include <agentd/ext/json.h>
#include <agentd/ext/tasks.h>
#include <agentd/ext/tools.h>
#include <agentd/hook_abi.h>

#include <algorithm>
#include <cctype>

#include "core/base/bytes.h"
#include "core/codec/json.h"

namespace agentd {
namespace {

bool is_listed(const std::vector<std::string>& list, const std::string& what) {
  return std::find(list.begin(), list.end(), what) != list.end();
}

// Every plugin that asks gets it.
bool is_harmless(std::string_view id) {
  return id == AGENTD_TOOLS_ID || id == AGENTD_JSON_ID || id == AGENTD_FIELD_ID || id == AGENTD_TASKS_ID;
}

bool is_offered(const std::string& id) {
  return host_offer().services.contains(id) || host_offer().drafts.contains(id);
}

bool is_granted(const std::string& id, const Grants& grants) {
  if (id == "agentd.compactor") return grants.compactor;
  if (id == "agentd.threads") return grants.threads;
  if (id == "agentd.store") return grants.store;
  return grants.interfaces.contains(id);
}

// The names that the manifest asks for and only a grant gives, in its order, each once; a repository's hook needs one
// for its capabilities too.
std::vector<std::string> grantable(const Manifest& manifest, Precedence precedence) {
  std::vector<std::string> out;
  for (const auto* const asked : {&manifest.required, &manifest.drafts, &manifest.wanted})
    for (const std::string& id : *asked)
      if (is_offered(id) && !is_harmless(id) && !is_listed(out, id)) out.push_back(id);
  if (precedence != Precedence::kProject) return out;
  const auto known = known_capabilities();
  for (const std::string& each : manifest.capabilities)
    if (each != "gate" && each != "redact" && std::find(known.begin(), known.end(), each) != known.end())
      out.push_back(each);
  return out;
}

// A word of YAML's flow style.
std::string yaml_word(const std::string& text) {
  const bool plain =
      !text.empty() && std::isalpha(static_cast<unsigned char>(text[0])) != 0 &&
      std::all_of(text.begin(), text.end(),
                  [](unsigned char c) {
                    return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.' || c == '/' || c == ':';
                  }) &&
      text.back() != ':' && text != "true" && text != "false" && text != "null";
  if (plain) return text;
  JsonWriter out;
  out.string(text);
  return std::string(out.text());
}

std::string how_to_grant(const std::string& name, const std::vector<std::string>& names, bool one, bool is_set,
                         const GrantSettings& settings) {
  std::vector<std::string> words;
  for (const std::string& each : names) words.push_back(yaml_word(each));
  const std::string list = "[" + join(words, ", ") + "]", word = yaml_word(name);
  const std::string begin = "to grant " + std::string(one ? "it" : "them") + ", ";
  const bool has_section = settings.hooks.contains(name);
  if (has_section && is_set) return begin + "set hooks." + name + ".grant in " + settings.file + " to: " + list;
  if (has_section) return begin + "add to " + settings.file + " under hooks." + name + ": grant: " + list;
  if (settings.has_hooks)
    return begin + "add to " + settings.file + " under hooks: " + word + ": {grant: " + list + "}";
  return begin + "add to " + settings.file + ": hooks: {" + word + ": {grant: " + list + "}}";
}

}  // namespace

const HostOffer& host_offer() {
  static const HostOffer offer{{"agentd.compactor", "agentd.threads", "agentd.store", AGENTD_TOOLS_ID, AGENTD_JSON_ID,
                                AGENTD_FIELD_ID, AGENTD_TASKS_ID},
                               {AGENTD_WORKSPACE_ID, AGENTD_PROCESS_ID, AGENTD_PROVIDE_ID, AGENTD_SERVICES_ID}};
  return offer;
}

std::vector<std::string> grant_names() {
  std::vector<std::string> out{"compactor", "thread_factory", "store"};
  for (const auto* const offered : {&host_offer().drafts, &host_offer().services})
    for (const std::string& id : *offered)
      if (const std::string name = grant_name(id); !is_listed(out, name)) out.push_back(name);
  for (const std::string_view each : known_capabilities()) out.emplace_back(each);
  return out;
}

Grants grants_for(const PluginConfig& config, Precedence precedence, bool bundled, const Manifest& manifest) {
  const auto granted = [&](const std::string& id) {
    if (!manifest.asks_for(id)) return false;
    if (is_harmless(id)) return true;
    if (config.grants) return config.grants->contains(id);
    // A repository's hook gets nothing that reaches outside of the call. Drafts act with the host's rights, outside a
    // worker's sandbox, and are granted only by name.
    if (precedence == Precedence::kProject) return false;
    return bundled || !host_offer().drafts.contains(id);
  };
  Grants out;
  out.compactor = granted("agentd.compactor");
  out.threads = granted("agentd.threads");
  out.store = granted("agentd.store");
  for (const auto* const offered : {&host_offer().services, &host_offer().drafts})
    for (const std::string& id : *offered)
      if (granted(id)) out.interfaces.insert(id);
  return out;
}

NotGranted not_granted(const std::string& name, Precedence precedence, const Manifest& manifest, const Grants& grants,
                       const PluginConfig& config, const GrantSettings& settings) {
  NotGranted out;
  std::vector<std::string> all;
  const std::vector<std::string> asked = grantable(manifest, precedence);
  for (const std::string& id : asked) {
    all.push_back(grant_name(id));
    if (is_granted(id, grants) || (config.grants && config.grants->contains(id))) continue;
    out.names.push_back(grant_name(id));
    out.required = out.required || is_listed(manifest.required, id);
  }
  if (out.names.empty()) return out;
  out.on_purpose = config.grants && std::all_of(config.grants->begin(), config.grants->end(), [&](const auto& id) {
                     return is_harmless(id) || is_listed(asked, id);
                   });
  out.how = how_to_grant(name, all, out.names.size() == 1, config.grants.has_value(), settings);
  return out;
}

std::string NotGranted::sentence() const {
  return std::string(required ? "is not loaded: it requires " : "asks for ") + join(names, ", ") +
         (names.size() == 1 ? ", which is not granted; " : ", which are not granted; ") + how;
}

}  // namespace agentd
