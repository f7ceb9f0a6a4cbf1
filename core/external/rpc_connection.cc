// SPDX-License-Identifier: Apache-2.0
#include "core/external/rpc_connection.h"

#include <agentd/hook_abi.h>

#include <algorithm>

#include "core/base/thread.h"
#include "core/base/thrown.h"
#include "core/dialects/translator.h"
#include "core/external/rpc_frames.h"

namespace agentd {
namespace {

constexpr std::size_t kReadMax = 64u << 10;
constexpr std::size_t kRefusalsMax = 64;
// How often waiting calls poll their cancel token.
constexpr Milliseconds kPoll{10};
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
  FrameReader frames(frame_max_);
  while (!ended()) {
    auto bytes = process_->read(kReadMax, stop_, Deadline{});
    if (!bytes || bytes->empty()) return end(end_of_output());
    frames.feed(*bytes);
    for (;;) {
      auto body = frames.next();
      if (!body) return end(body.error().message);
      if (!*body) break;
      if (!take(**body)) return;
    }
    send_refusals();
  }
}

bool RpcConnection::take(const std::string& body) {
  auto parsed = JsonDocument::parse(body);
  if (!parsed || !parsed->root().is_object()) {
    end("it wrote a frame that is not a JSON object: " + in_quotes(first_line(body, 80)));
    return false;
  }
  // Shared with the waiting call.
  const auto message = std::make_shared<const JsonDocument>(std::move(*parsed));
  const JsonView root = message->root();
  if (root["method"].is_string())
    refuse(root["id"], root["method"].string_or(""));
  else
    take_answer(root["id"].int_or(0), message);
  return true;
}

void RpcConnection::take_answer(std::int64_t id, std::shared_ptr<const JsonDocument> message) {
  const MutexLock lock(mutex_);
  unanswered_ = 0;
  const auto found = pending_.find(id);
  if (found == pending_.end()) return;  // late, or an unknown id
  Pending& pending = *found->second;
  pending.answered = true;
  const JsonView error = message->root()["error"];
  if (error.is_object()) {
    pending.reply.kind = Reply::Kind::kError;
    pending.reply.sentence = "it answered with error " + std::to_string(error["code"].int_or(0)) + ": " +
                             first_line(error["message"].string_or("no message"));
  } else {
    pending.reply.kind = Reply::Kind::kResult;
    pending.reply.message = std::move(message);
  }
  pending_.erase(found);
  changed_.notify_all();
}

// The reader must not wait to write: the program may be waiting for the reader. So refusals are left for the next
// writer.
void RpcConnection::refuse(JsonView id, std::string_view method) {
  const MutexLock lock(mutex_);
  unanswered_ = 0;
  if (!id.exists() || id.is_null() || refusals_.size() >= kRefusalsMax) return;
  refusals_.push_back(rpc_refusal(id.text(), method));
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
    written = process_->write(rpc_request(pending->id, method, params), cancel, deadline).has_value();
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
  if (!process_->write(rpc_cancel(pending->id), CancelToken(), Deadline::after(clock_, kShortWrite)))
    end("it does not read its standard input");
}

}  // namespace agentd
