// SPDX-License-Identifier: Apache-2.0
#pragma once
// doors.h - when a run compacts by itself: before a request, after a provider's "too long", and when a hook has asked
// for it. Private to this room.
//
// Threading: the session's thread.

#include "core/agent/run/run_state.h"

namespace agentd {

class CompactionDoors {
 public:
  // Both outlive it.
  CompactionDoors(const SessionParts& session, RunState& run) : session_(session), run_(run) {}

  // Before the first request of a run, or between two turns of it.
  Result<void, RunError> before_request();
  // A request that no compaction could bring below the limit is sent unchanged, with a warning.
  void warn_when_full();
  // Compactions that hooks requested. `phase`: AGENTD_PHASE_
  Result<void, RunError> queued(std::uint32_t phase);
  // The provider says that the prompt is too long.
  Result<CompactionReport, RunError> after_overflow();

 private:
  bool is_due(const CompactionRequest& request);

  const SessionParts& session_;
  RunState& run_;
};

}  // namespace agentd
