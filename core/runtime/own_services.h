// SPDX-License-Identifier: Apache-2.0
#pragma once
// own_services.h - the services that agentd itself offers to plugins, and to its own doors: checkpoints, remarks on a
// session, and which model may distil a conversation. docs/reference/services.md describes the operations.
//
// Threading: offer_own_services() before another thread uses the registry; the operations may be called on any thread.

#include <functional>
#include <string>
#include <string_view>

#include "core/agent/agent.h"
#include "core/services/registry.h"

namespace agentd {

inline constexpr std::string_view kCheckpointService = "agentd.checkpoint/1";
inline constexpr std::string_view kSessionService = "agentd.session/1";
inline constexpr std::string_view kDistillerService = "agentd.distiller/1";

// All outlive the registry's last call.
struct OwnServiceParts {
  AgentServices& services;
  RuntimeParts runtime;
  ModelSettings settings;                // of what is asked on behalf of no conversation
  std::string resume_level = "context";  // where a call names none
  // The vendor's name before the slash of a model's name; empty = it has none. Empty function = no name has one.
  std::function<std::string(std::string_view model)> vendor_of{};
};
void offer_own_services(ServiceRegistry& registry, OwnServiceParts parts);

// The model that distils a conversation which was with that model of that vendor, as "vendor/name": the one of
// compaction.model if it is the vendor's, else the vendor's cheap one, else the model itself. Never another vendor's.
std::string distiller_model(const ModelTable& models, const ModelSettings& settings,
                            const std::string& vendor_of_setting, const std::string& vendor, const std::string& model,
                            std::int64_t wall_ms);

}  // namespace agentd
