// SPDX-License-Identifier: Apache-2.0
#include "core/worker/host_line.h"

#include <unistd.h>

#include <bit>
#include <utility>

#include "core/base/file.h"
#include "core/isolation/flat.h"
#include "core/isolation/message_shapes.h"

namespace agentd::worker {
namespace {

void send(Lane& lane, const LaneMessage& message, const std::string& body) {
  if (lane.send(message, body, {}) != LaneEnd::kMessage) give_up("the host does not accept a request of the hook");
}

HostLine::Answer receive(Lane& lane) {
  LaneMessage message;
  HostLine::Answer answer;
  if (lane.receive(message, answer.body, {}) != LaneEnd::kMessage ||
      message.op != static_cast<std::uint32_t>(LaneOp::kReply))
    give_up("the host does not answer a request of the hook");
  answer.status = message.status;
  return answer;
}

}  // namespace

void give_up(std::string_view sentence) {
  (void)write_all(STDERR_FILENO, "agentd-hook-worker: " + std::string(sentence) + "\n");
  ::_exit(kExitProtocol);
}

HostLine::HostLine(AnswerRegion& region) : region_(region), free_((1u << AnswerRegion::kServiceLanes) - 1) {}

HostLine::Current& HostLine::current() {
  thread_local Current current;
  return current;
}

agentd_token HostLine::own_token() { return current().token; }

HostLine::InCall::InCall(Lane& lane, agentd_token token) { current() = {&lane, token}; }
HostLine::InCall::~InCall() { current() = {}; }

HostLine::Answer HostLine::ask(agentd_token token, const ServiceArgs& args) {
  const Shape* const shape = args_shape(args.op, static_cast<std::uint32_t>(args.number[0]));
  AGENTD_ASSERT(shape != nullptr);
  std::string body;
  if (auto made = flatten(*shape, &args, body); !made) {
    const bool too_big = made.error().code == Code::kUnavailable;
    return {too_big ? AGENTD_E_TOO_BIG : AGENTD_E_ARG, {}, made.error().message};
  }
  LaneMessage message;
  message.op = static_cast<std::uint32_t>(LaneOp::kService);
  message.token = token;
  Lane* const own = current().lane;
  if (own == nullptr || token != current().token) return ask_over_service_lane(message, body);
  send(*own, message, body);
  return receive(*own);
}

HostLine::Answer HostLine::ask_over_service_lane(const LaneMessage& message, const std::string& body) {
  const std::uint32_t index = borrow_lane();
  Lane lane = region_.service_lane(index, Lane::Side::kWorker);
  // Sending waits for the host between two pieces, so the host must be rung for before.
  const bool in_pieces = body.size() > Lane::kPieceBytes;
  if (in_pieces) region_.ring(index);
  send(lane, message, body);
  if (!in_pieces) region_.ring(index);
  Answer answer = receive(lane);
  give_back(index);
  return answer;
}

std::uint32_t HostLine::borrow_lane() {
  const MutexLock lock(mutex_);
  while (free_ == 0) freed_.wait(mutex_);
  const auto index = static_cast<std::uint32_t>(std::countr_zero(free_));
  free_ &= free_ - 1;
  return index;
}

void HostLine::give_back(std::uint32_t index) {
  {
    const MutexLock lock(mutex_);
    free_ |= 1u << index;
  }
  freed_.notify_one();
}

}  // namespace agentd::worker
