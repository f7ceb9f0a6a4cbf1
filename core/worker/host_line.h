// SPDX-License-Identifier: Apache-2.0
#pragma once
// host_line.h - how the worker's threads call their host.
//
// A thread inside a call uses that call's lane, where the host's thread waits; every other thread, and a call that uses
// another call's token, takes one of the service lanes. If the host sends a malformed message, or no more messages, the
// process ends.
//
// Threading: thread-safe.

#include <agentd/hook_abi.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/mutex.h"
#include "core/isolation/lane.h"
#include "core/isolation/messages.h"

namespace agentd::worker {

// Exit codes of the process, for when the host cannot be served.
constexpr int kExitUsage = 64, kExitProtocol = 70, kExitBaseTaken = 71;

// Writes the sentence to standard error, which is the host's log, and ends the process.
[[noreturn]] void give_up(std::string_view sentence);

class HostLine {
 public:
  // `region` outlives the line.
  explicit HostLine(AnswerRegion& region);
  HostLine(const HostLine&) = delete;
  HostLine& operator=(const HostLine&) = delete;

  // Marks the calling thread as inside a call during its lifetime.
  class InCall {
   public:
    InCall(Lane& lane, agentd_token token);
    ~InCall();
    InCall(const InCall&) = delete;
    InCall& operator=(const InCall&) = delete;
  };
  // The token of this thread's call; 0 = none.
  static agentd_token own_token();

  struct Answer {
    agentd_status status = AGENTD_E_INTERNAL;
    std::string body;   // of a ServiceReply; may be empty if status is an error
    std::string error;  // the mistake in a request that was not sent
  };
  // Sends a request and blocks until the host has answered.
  Answer ask(agentd_token token, const ServiceArgs& args);

 private:
  struct Current {
    Lane* lane = nullptr;
    agentd_token token = 0;
  };
  static Current& current();
  Answer ask_over_service_lane(const LaneMessage& message, const std::string& body);
  std::uint32_t borrow_lane();
  void give_back(std::uint32_t index);

  AnswerRegion& region_;
  Mutex mutex_;
  Condition freed_;
  std::uint32_t free_ GUARDED_BY(mutex_);  // one bit per service lane
};

}  // namespace agentd::worker
