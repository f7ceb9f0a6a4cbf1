// SPDX-License-Identifier: Apache-2.0
#pragma once
// host_line.h - how the worker's threads ask their host.
//
// A thread that is inside of a call speaks over the lane of that call, where the host's thread is
// parked; every other thread, and a call that uses a token which is not its own, takes one of the
// service lanes. When the host says what no host says, or nothing any more, the process ends.
//
// Threading: thread-safe.

#include <agentd/hook_abi.h>

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

#include "core/isolation/lane.h"
#include "core/isolation/messages.h"

namespace agentd::worker {

// Of the process, when the host cannot be served.
constexpr int kExitUsage = 64, kExitProtocol = 70, kExitBaseTaken = 71;

// Says it on standard error, which is the host's log, and ends the process.
[[noreturn]] void give_up(std::string_view sentence);

class HostLine {
 public:
  // `region` outlives the line.
  explicit HostLine(AnswerRegion& region);
  HostLine(const HostLine&) = delete;
  HostLine& operator=(const HostLine&) = delete;

  // The calling thread is inside of a call for as long as this lives.
  class InCall {
   public:
    InCall(Lane& lane, agentd_token token);
    ~InCall();
    InCall(const InCall&) = delete;
    InCall& operator=(const InCall&) = delete;
  };
  // Of the call that this thread is in; 0 = none.
  static agentd_token own_token();

  struct Answer {
    agentd_status status = AGENTD_E_INTERNAL;
    std::string body;   // of a ServiceReply; empty is possible when status is an error
    std::string error;  // what was wrong with the request itself, when it was not sent
  };
  // Blocks until the host has answered.
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
  std::mutex mutex_;
  std::condition_variable freed_;
  std::uint32_t free_;  // a bit for each service lane; guarded by mutex_
};

}  // namespace agentd::worker
