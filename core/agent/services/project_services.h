// SPDX-License-Identifier: Apache-2.0
#pragma once
// project_services.h - the services as a project's own plugins have them. Private to this room.
//
// A repository chooses the ids of its plugins. So that none of them reads the keys of a plugin whose id it takes, or
// another project's conversations, their keys are in spaces of the project, and everything else that is named by a
// conversation or a thread is the project's.
//
// Threading: thread-safe.

#include <set>
#include <string>
#include <utility>

#include "core/agent/services/services.h"
#include "core/base/mutex.h"

namespace agentd {

class ProjectServices final : public Services {
 public:
  // `services` outlives it.
  ProjectServices(AgentServices& services, std::string project_id)
      : services_(services), project_id_(std::move(project_id)) {}

  AGENTD_SERVICE_METHODS(AGENTD_SERVICE_OVERRIDE)

 private:
  std::string space_of(const ServiceCaller& caller) const;
  bool is_own(agentd_conv conversation) const;
  Result<void> check_conversation(std::string_view id) const;
  Result<void> check_thread(agentd_thread thread) const;

  AgentServices& services_;
  const std::string project_id_;
  mutable Mutex mutex_;
  std::set<agentd_thread> threads_ GUARDED_BY(mutex_);  // that were opened here
};

}  // namespace agentd
