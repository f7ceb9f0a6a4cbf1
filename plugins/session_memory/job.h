// SPDX-License-Identifier: Apache-2.0
#pragma once
// job.h - the second step of a distillation, waiting to be done.
//
// A job belongs to a conversation. It is written in the commit of step one, and its result in the commit that ends it,
// so that at a kill it is either done or done again, with the same rows. A process that works on it holds a lease: when
// the lease has passed without a result, the worker is gone and the attempt counts. After three failures it rests, with
// its error.
//
// Threading: values and pure functions.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/codec/json.h"
#include "plugins/session_memory/distill.h"

namespace session_memory {

struct Job {
  enum class State : std::uint8_t { kWaiting, kRunning, kDone, kResting };
  static constexpr std::uint32_t kAttemptsMax = 3;
  static constexpr std::int64_t kLeaseMs = 5 * 60 * 1000;
  static constexpr std::size_t kErrorBytesMax = 400;

  std::string conversation, project, provider, model;
  std::uint64_t refined = 0;   // the log up to here has been through step two
  std::uint64_t revision = 0;  // and up to here through step one
  std::uint64_t behind = 0;    // if larger: up to here step one waits, since nobody should wait for it
  State state = State::kWaiting;
  std::uint32_t attempts = 0;
  std::string error;
  std::int64_t created_ms = 0, changed_ms = 0, lease_until_ms = 0;
  std::string holder;               // of the lease
  EndedSession typed;               // the fields that were given at the session's end
  std::vector<std::string> drafts;  // ids of step one that step two may replace

  bool waits_for_step_one() const { return behind > revision; }
  // A lease that is longer than any can be was taken before the clock was set back.
  bool is_due(std::int64_t now_ms) const {
    return state == State::kWaiting ||
           (state == State::kRunning && (lease_until_ms <= now_ms || lease_until_ms > now_ms + kLeaseMs));
  }
};

std::string_view name_of(Job::State state);  // "waiting", "running", "done", "resting"

std::string json_of(const Job& job);
agentd::Result<Job> job_of(agentd::JsonView from);

// Takes the lease and counts the attempt. An expired lease whose attempts are used up makes the job rest instead.
// REQUIRES: is_due(now_ms).
Job taken(Job job, std::string_view holder, std::int64_t now_ms);
Job failed(Job job, std::string_view error, std::int64_t now_ms);
// Given back without a result because the host ends: the attempt does not count.
Job released(Job job, std::int64_t now_ms);
Job done(Job job, std::int64_t now_ms);
// The job of a conversation whose log was distilled further; the drafts add up until they are refined.
Job extended(Job job, const EndedSession& session, const std::vector<Memory>& drafts, std::int64_t now_ms);

}  // namespace session_memory
