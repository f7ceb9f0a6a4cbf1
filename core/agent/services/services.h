// SPDX-License-Identifier: Apache-2.0
#pragma once
// services.h - what hooks get from the agent, and the sessions that it knows. Private to this room.
//
// Threading: thread-safe.

#include <span>
#include <utility>

#include "core/agent/attendance.h"
#include "core/agent/hook_budget.h"
#include "core/agent/resources.h"
#include "core/agent/services/hook_threads.h"
#include "core/agent/services/registry.h"

namespace agentd {

class AgentServices final : public Services {
 public:
  AgentServices(RuntimeParts parts, RuntimeSettings settings)
      : runtime_(parts, std::move(settings)),
        sessions_(runtime_),
        hook_budget_({runtime_.settings().hook_call_tokens, runtime_.settings().hook_run_tokens}),
        threads_(runtime_, sessions_, hook_budget_),
        attendance_(parts.store, parts.ids, parts.log) {}

  const RuntimeResources& runtime() const { return runtime_; }
  SessionRegistry& sessions() { return sessions_; }
  const SessionRegistry& sessions() const { return sessions_; }
  Attendance& attendance() { return attendance_; }

  // Compactor and thread factory: services.cc; store: store.cc.
  AGENTD_SERVICE_METHODS(AGENTD_SERVICE_OVERRIDE)

 private:
  Result<CompactAnswer> summarise(const Rows& rows, std::span<const SeqRange> view, const CompactOptions& options,
                                  const SessionRegistry::Charged& who, const ServiceCaller& caller);

  const RuntimeResources runtime_;
  SessionRegistry sessions_;
  HookBudget hook_budget_;
  HookThreads threads_;
  Attendance attendance_;
};

}  // namespace agentd
