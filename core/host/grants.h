// SPDX-License-Identifier: Apache-2.0
#pragma once
// grants.h - the services that a native hook asks for, those that the user grants, and how the rest is granted.
//
// Threading: values and pure functions.

#include <set>
#include <string>
#include <vector>

#include "core/native/plugin.h"
#include "core/trust/hook_directories.h"

namespace agentd {

// The services and drafts of this host.
const HostOffer& host_offer();
// The names for hooks.NAME.grant, as in the documentation: services, interfaces and capabilities.
std::vector<std::string> grant_names();

// Where the user writes grants.
struct GrantSettings {
  std::string file = "config.yaml";
  bool has_hooks = false;       // it has a section `hooks`
  std::set<std::string> hooks;  // which have a section in that
};

Grants grants_for(const PluginConfig& config, Precedence precedence, bool bundled, const Manifest& manifest);

// The services, interfaces and capabilities that a hook asks for and does not get.
struct NotGranted {
  std::vector<std::string> names;  // as in hooks.NAME.grant; empty = it gets everything
  bool required = false;           // it cannot be loaded without
  bool on_purpose = false;         // hooks.NAME.grant is set, to nothing that the hook does not ask for
  std::string how;                 // "to grant it, add to FILE: hooks: {NAME: {grant: [agentd.workspace/1]}}"
  bool any() const { return !names.empty(); }
  // "asks for agentd.workspace/1, which is not granted; to grant it, ...", to follow the hook's name or path. REQUIRES:
  // any().
  std::string sentence() const;
};
// `name`: the hook's, as in hooks.NAME. The lines of `how` can be pasted where it says: they grant everything that the
// hook asks for, since a list replaces what a hook gets without one.
NotGranted not_granted(const std::string& name, Precedence precedence, const Manifest& manifest, const Grants& grants,
                       const PluginConfig& config, const GrantSettings& settings);

}  // namespace agentd
