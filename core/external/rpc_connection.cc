// SPDX-License-Identifier: Apache-2.0
#include "core/external/rpc_connection.h"

#include <agentd/hook_abi.h>

#include <algorithm>

#include "core/base/thread.h"
#include "core/base/thrown.h"
#include "core/codec/json_rpc.h"
#include "core/codec/rpc_frames.h"
#include "core/dialects/translator.h"

namespace agentd {
namespace {

constexpr std::size_t kReadMax = 64u << 10;
constexpr std::size_t kRefusalsMax = 64;
// For writes that no call waits for: a program that does not read for this long is broken.
constexpr Milliseconds kShortWrite{500};
// Overdue requests in a row after which the program counts as hung.
constexpr int kUnansweredMax = 2;

std::string last_line(std::string_view text) {
  text = trimmed(text);
  const std::size_t at = text.rfind('\n');
  return first_line(at == std::string_view::npos ? text : text.substr(at + 1));
}

}  // namespace

RpcConnection::RpcConnection(std::unique_ptr<DuplexProcess> process, const Clock& clock, std::size_t frame_max)
    : process_(std::move(process)), clock_(clock), frame_max_(frame_max) {
  try {
    reader_ = Thread([this] {
      if (std::string why = thrown_by([this] { read_all(); }); !why.empty())
        end("its answers cannot be read: " + std::move(why));
    });
  } catch (const std::system_error&) {
    end("no thread can be made to read its answers");
  }
}

RpcConnection::~RpcConnection() {
  stop_.cancel(AGENTD_CANCEL_SHUTDOWN);
  if (reader_.joinable()) reader_.join();
}

bool RpcConnection::ended() const {
  const MutexLock lock(mutex_);
  return ended_;
}

std::string RpcConnection::why_ended() const {
  const MutexLock lock(mutex_);
  return why_;
}

std::uint64_t RpcConnection::ended_at_ns() const {
  const MutexLock lock(mutex_);
  return ended_at_ns_;
}

void RpcConnection::end(std::string why) {
  const MutexLock lock(mutex_);
  if (ended_) return;
  ended_ = true;
  why_ = std::move(why);
  ended_at_ns_ = clock_.monotonic_ns();
  pending_.clear();
  changed_.notify_all();
}

std::string RpcConnection::end_of_output() const {
  const std::string complaint = last_line(process_->error_text());
  return "it ended" + (complaint.empty() ? std::string() : ": " + complaint);
}

// ---- reading

void RpcConnection::read_all() {
  RpcFrames frames(RpcFraming::kLength, frame_max_);
  while (!ended()) {
    auto bytes = process_->read(kReadMax, stop_, Deadline{});
    if (!bytes || bytes->empty()) return end(end_of_output());
    frames.feed(*bytes);
    for (;;) {
      auto body = frames.next();
      if (!body) return end("its output " + body.error().message);
      if (!*body) break;
      if (!take(**body)) return;
    }
    send_refusals();
  }
}

bool RpcConnection::take(const std::string& body) {
  auto read = read_rpc(body, {frame_max_});
  if (auto* const refusal = std::get_if<RpcRefusal>(&read)) {
    const bool is_request = refusal->answered && !refusal->id.is_null();
    if (is_request) refuse(refusal->id, std::move(refusal->fault));
    if (!is_request) end("its output is not JSON-RPC: " + refusal->fault.message);
    return is_request;
  }
  RpcMessage& message = std::get<RpcMessage>(read);
  switch (message.kind) {
    case RpcMessage::Kind::kNotification:
      answered();
      break;
    case RpcMessage::Kind::kRequest:
      refuse(message.id, {kRpcNoMethod, "agentd does not offer " + message.method});
      break;
    case RpcMessage::Kind::kResult:
    case RpcMessage::Kind::kFault:
      take_answer(std::move(message));
      break;
  }
  return true;
}

// Any message shows that the program still works.
void RpcConnection::answered() {
  const MutexLock lock(mutex_);
  unanswered_ = 0;
}

void RpcConnection::take_answer(RpcMessage message) {
  const MutexLock lock(mutex_);
  unanswered_ = 0;
  const auto found = pending_.find(message.id.number().value_or(0));
  if (found == pending_.end()) return;  // late, or an unknown id
  Pending& pending = *found->second;
  pending.answered = true;
  if (message.kind == RpcMessage::Kind::kFault) {
    pending.reply.kind = Reply::Kind::kError;
    pending.reply.sentence = "it answered with error " + std::to_string(message.fault.code) + ": " +
                             (message.fault.message.empty() ? "no message" : first_line(message.fault.message));
  } else {
    pending.reply.kind = Reply::Kind::kResult;
    pending.reply.message = std::move(message.document);
  }
  pending_.erase(found);
  changed_.notify_all();
}

// The reader must not wait to write: the program may be waiting for the reader. So refusals are left for the next
// writer.
void RpcConnection::refuse(const RpcId& id, RpcFault fault) {
  const MutexLock lock(mutex_);
  unanswered_ = 0;
  if (refusals_.size() >= kRefusalsMax) return;
  refusals_.push_back(rpc_frame(RpcFraming::kLength, rpc_fault(id, fault)));
}

void RpcConnection::send_refusals() {
  if (!writing_.try_lock()) return;
  const MutexLock writing(writing_, kAdopt);
  std::string bytes;
  {
    const MutexLock lock(mutex_);
    for (const std::string& each : refusals_) bytes += each;
    refusals_.clear();
  }
  if (bytes.empty()) return;
  if (!process_->write(bytes, CancelToken(), Deadline::after(clock_, kShortWrite)))
    end("it does not read its standard input");
}

// ---- asking

bool RpcConnection::lock_writing(const CancelToken& cancel, Deadline deadline) {
  while (!writing_.lock_for(clock_, kPoll))
    if (cancel.cancelled() || deadline.passed(clock_) || ended()) return false;
  return true;
}

std::shared_ptr<RpcConnection::Pending> RpcConnection::begin(std::string_view method, std::string_view params,
                                                             const CancelToken& cancel, Deadline deadline, Reply& why) {
  // Shared by the connection and its caller.
  auto pending = std::make_shared<Pending>();
  {
    const MutexLock lock(mutex_);
    pending->id = ++last_id_;
    if (!ended_) pending_[pending->id] = pending;
  }
  const bool mine = lock_writing(cancel, deadline);
  bool written = false;
  if (mine) {
    const MutexLock writing(writing_, kAdopt);
    const std::string bytes = rpc_frame(RpcFraming::kLength, rpc_request(RpcId(pending->id), method, params));
    written = process_->write(bytes, cancel, deadline).has_value();
    // A partly written frame would make the next one unreadable.
    if (!written) end("it does not read its standard input");
  }
  if (written) return pending;
  why.kind = cancel.cancelled()        ? Reply::Kind::kCancelled
             : deadline.passed(clock_) ? Reply::Kind::kTimedOut
                                       : Reply::Kind::kEnded;
  const MutexLock lock(mutex_);
  pending_.erase(pending->id);
  why.sentence = why_;
  return nullptr;
}

RpcConnection::Reply RpcConnection::wait(const std::shared_ptr<Pending>& pending, const CancelToken& cancel,
                                         Deadline deadline) {
  MutexLock lock(mutex_);
  for (;;) {
    if (pending->answered) return pending->reply;
    if (ended_) return {Reply::Kind::kEnded, nullptr, why_};
    if (cancel.cancelled()) return {Reply::Kind::kCancelled, nullptr, {}};
    if (deadline.passed(clock_)) return {Reply::Kind::kTimedOut, nullptr, {}};
    const bool refusals = !refusals_.empty();
    if (refusals) {
      lock.unlock();
      send_refusals();
      lock.lock();
    }
    if (!pending->answered && !ended_)
      changed_.wait_for(mutex_, clock_, std::clamp(deadline.left(clock_), Milliseconds(1), kPoll));
  }
}

void RpcConnection::abandon(const std::shared_ptr<Pending>& pending, bool overdue) {
  bool silent = false;
  {
    const MutexLock lock(mutex_);
    if (pending_.erase(pending->id) == 0) return;
    if (overdue) silent = ++unanswered_ >= kUnansweredMax;
  }
  if (silent) return end("it left " + std::to_string(kUnansweredMax) + " requests unanswered");
  if (!lock_writing(CancelToken(), Deadline::after(clock_, kShortWrite))) return;
  const MutexLock writing(writing_, kAdopt);
  const std::string bytes = rpc_frame(RpcFraming::kLength, rpc_cancel(kLspCancelling, RpcId(pending->id)));
  if (!process_->write(bytes, CancelToken(), Deadline::after(clock_, kShortWrite)))
    end("it does not read its standard input");
}

}  // namespace agentd
