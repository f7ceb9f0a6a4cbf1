// SPDX-License-Identifier: Apache-2.0
#pragma once
// manifest.h - a hook's manifest, and whether this host can serve it.
//
// Threading: values and pure functions.

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace agentd {

// By AGENTD_SERIAL, AGENTD_PER_CONVERSATION and AGENTD_CONCURRENT.
inline constexpr std::string_view kConcurrencyNames[] = {"serial", "per-conversation", "concurrent"};

struct Manifest {
  std::string id, version;
  std::uint32_t abi_major = 0, abi_minor = 0;
  std::vector<std::string> events;
  // Ids of services and interfaces in the form of canonical_service(). A missing `required` one prevents loading, a
  // missing `wanted` one does not; `drafts` are available only if named here.
  std::vector<std::string> required, wanted, drafts;
  std::string concurrency;  // one of kConcurrencyNames, or of a newer agentd; empty = not declared
  std::vector<std::string> capabilities;
  std::string isolation, license;
  std::string config_schema;  // JSON; empty = none

  // True if required, wanted or drafts has it.
  bool asks_for(std::string_view service) const;
  bool has_capability(std::string_view capability) const;
  // True if it declares that it takes no more than one call of a conversation at a time.
  bool declares_serial() const;
};

// Its capabilities that this host does not know, in order.
std::vector<std::string> unknown_capabilities(const Manifest& manifest);
// A warning about these that lists the known ones, to follow "PATH " or "it "; empty = all are known.
std::string capability_warning(const Manifest& manifest);

// "agentd.compactor", "agentd.threads" and "agentd.store" for every spelling of the three services; interface ids are
// unchanged.
std::string canonical_service(std::string_view name);
// The name of a canonical id in hooks.NAME.grant: "thread_factory" for "agentd.threads"; interface ids are unchanged.
std::string grant_name(std::string_view canonical);
// The capabilities that this host knows.
std::span<const std::string_view> known_capabilities();

// kInvalid: not a manifest; the message names the key. Unknown keys are ignored, since newer hosts may define them.
Result<Manifest> parse_manifest(std::string_view json);

// A host's services and drafts, by canonical id.
struct HostOffer {
  std::set<std::string> services;
  std::set<std::string> drafts;
};

// Why the hook cannot be loaded and what to do: "needs a newer agentd (abi 1.7, this one has 1.0)", "asks for the
// unknown service agentd.time/1: update agentd". Empty = it can be.
std::string obstacle_of(const Manifest& manifest, const HostOffer& offer);

}  // namespace agentd
