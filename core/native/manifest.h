// SPDX-License-Identifier: Apache-2.0
#pragma once
// manifest.h - what a hook says of itself, and whether this host can serve it.
//
// Threading: values and pure functions.

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace agentd {

struct Manifest {
  std::string id, version;
  std::uint32_t abi_major = 0, abi_minor = 0;
  std::vector<std::string> events;
  // Ids of services and interfaces, as canonical_service() spells them. `required` stops the load when
  // it is missing, `wanted` does not; `drafts` are reached only when they are named here.
  std::vector<std::string> required, wanted, drafts;
  std::string concurrency;  // "serial", "per-conversation", "concurrent"
  std::vector<std::string> capabilities;
  std::string isolation, license;
  std::string config_schema;  // JSON; empty = none

  // True when required, wanted or drafts names it.
  bool asks_for(std::string_view service) const;
  bool has_capability(std::string_view capability) const;
};

// Names among its capabilities that this host does not know, in their order.
std::vector<std::string> unknown_capabilities(const Manifest& manifest);
// A sentence about them that names those that there are, to stand after "PATH " or "it "; empty = all are known.
std::string capability_warning(const Manifest& manifest);

// "agentd.compactor", "agentd.threads" and "agentd.store" for each spelling of the three services;
// interface ids as they are.
std::string canonical_service(std::string_view name);

// kInvalid: the text is no manifest; the message names the key. Unknown keys are of newer hosts and
// ignored.
Result<Manifest> parse_manifest(std::string_view json);

// What a host has to offer, by canonical id.
struct HostOffer {
  std::set<std::string> services;
  std::set<std::string> drafts;
};

// "ok", or why the hook cannot be loaded and what to do: "needs a newer agentd (abi 1.7, this one has
// 1.0)", "asks for the unknown service agentd.time/1: update agentd".
std::string verdict_of(const Manifest& manifest, const HostOffer& offer);

}  // namespace agentd
