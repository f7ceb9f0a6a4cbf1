// SPDX-License-Identifier: Apache-2.0
#include "core/rpc/wire.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <utility>

#include "core/base/signals_blocked.h"
#include "core/codec/rpc_frames.h"

namespace agentd {
namespace {

constexpr std::size_t kReadBytes = 64 * 1024;
constexpr std::size_t kMessageMax = 48u << 20;  // a prompt with the largest document, in base64
constexpr std::size_t kQueuedMax = 4u << 20;    // from which on senders wait for the client
constexpr std::size_t kQueuedEver = 64u << 20;  // of answers, too: such an editor is broken
constexpr Milliseconds kSlice{50};
constexpr Milliseconds kLastWrite{1'000};

}  // namespace

RpcWire::RpcWire(int in, int out, const Clock& clock, RpcCancelling cancelling)
    : in_(in), out_(out), clock_(clock), cancelling_(cancelling) {
  const SignalsBlocked blocked;
  writer_ = Thread([this] { write_all(); });
}

RpcWire::~RpcWire() {
  {
    const MutexLock lock(mutex_);
    gone_ = ends_ = true;
    last_write_ = Deadline::after(clock_, kLastWrite);
    changed_.notify_all();
  }
  writer_.join();
}

// ---- reading

bool RpcWire::read_some(std::string& bytes, const CancelToken& cancel) {
  while (!cancel.cancelled() && !is_gone()) {
    pollfd ready{in_, POLLIN, 0};
    const int polled = clock_.poll_for({&ready, 1}, kSlice);
    if (polled == 0 || (polled < 0 && errno == EINTR)) continue;
    bytes.resize(kReadBytes);
    const ssize_t got = ::read(in_, bytes.data(), bytes.size());
    bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (got > 0) return true;
    if (got == 0 || (errno != EINTR && errno != EAGAIN)) return false;
  }
  return false;
}

void RpcWire::read_all(const Take& take, const CancelToken& cancel) {
  reader_ = std::this_thread::get_id();
  RpcFrames frames(RpcFraming::kLines, kMessageMax);
  for (std::string bytes; read_some(bytes, cancel);) {
    frames.feed(bytes);
    for (;;) {
      auto text = frames.next();
      if (text && !*text) break;
      if (text)
        take_text(**text, take);
      else
        refuse({}, {kRpcBadRequest, "the input " + text.error().message});
    }
  }
  end();
}

void RpcWire::take_text(const std::string& text, const Take& take) {
  auto read = read_rpc(text, {kMessageMax});
  if (auto* const refusal = std::get_if<RpcRefusal>(&read)) {
    if (refusal->answered) return refuse(refusal->id, refusal->fault);
    return take_answer(refusal->id, std::move(refusal->fault));
  }
  RpcMessage& message = std::get<RpcMessage>(read);
  if (message.kind == RpcMessage::Kind::kFault) return take_answer(message.id, std::move(message.fault));
  if (message.kind == RpcMessage::Kind::kResult) {
    if (is_asked(message.id)) return take_answer(message.id, std::move(message.document));
    // Else it is late, or a request that lacks its method, whose sender waits.
    if (!message.result().exists()) refuse(message.id, {kRpcBadRequest, "the message has no method and no result"});
    return;
  }
  take(std::move(message));
}

bool RpcWire::is_asked(const RpcId& id) const {
  const MutexLock lock(mutex_);
  return asked_.count(id.number().value_or(0)) != 0;
}

void RpcWire::take_answer(const RpcId& id, Answer answer) {
  std::function<void(JsonView)> late;
  {
    const MutexLock lock(mutex_);
    const auto found = asked_.find(id.number().value_or(0));
    if (found == asked_.end()) return;  // late, or an id that was never sent
    const std::shared_ptr<Asked> asked = std::move(found->second);
    asked_.erase(found);
    if (!asked->left) {
      asked->answered = true;
      asked->answer = std::move(answer);
      return changed_.notify_all();
    }
    late = std::move(asked->late);
  }
  if (answer) late((*answer)->root()["result"]);
}

// ---- writing

void RpcWire::send(std::string_view message) {
  std::string line = rpc_frame(RpcFraming::kLines, message);
  const bool waits = std::this_thread::get_id() != reader_;
  const MutexLock lock(mutex_);
  while (waits && !gone_ && !broken_ && queued_.size() + writing_ > kQueuedMax)
    changed_.wait_for(mutex_, clock_, kSlice);
  if (queued_.size() + writing_ + line.size() > kQueuedEver) gone_ = broken_ = true;
  if (!broken_) queued_ += line;
  changed_.notify_all();
}

// No more than a pipe takes at once when it is ready, so that no write waits.
bool RpcWire::write_some(std::string_view& bytes) const {
  pollfd ready{out_, POLLOUT, 0};
  const int polled = clock_.poll_for({&ready, 1}, kSlice);
  if (polled == 0 || (polled < 0 && errno == EINTR)) return true;
  const ssize_t put = ::write(out_, bytes.data(), std::min<std::size_t>(bytes.size(), PIPE_BUF));
  if (put < 0) return errno == EINTR || errno == EAGAIN;
  bytes.remove_prefix(static_cast<std::size_t>(put));
  return true;
}

void RpcWire::write_all() {
  for (;;) {
    std::string taken;
    {
      const MutexLock lock(mutex_);
      while (queued_.empty() && !ends_ && !broken_) changed_.wait_for(mutex_, clock_, kSlice);
      if (queued_.empty() || broken_) return;
      taken.swap(queued_);
      writing_ = taken.size();
    }
    for (std::string_view rest = taken; !rest.empty();) {
      const bool written = write_some(rest);
      const MutexLock lock(mutex_);
      writing_ = rest.size();
      changed_.notify_all();
      if (!written) gone_ = broken_ = true;
      if (broken_ || (ends_ && last_write_.passed(clock_))) return;
    }
  }
}

void RpcWire::notify(std::string_view method, std::string_view params) { send(rpc_notification(method, params)); }

void RpcWire::answer(const RpcId& id, std::string_view result) { send(rpc_result(id, result)); }

void RpcWire::refuse(const RpcId& id, const RpcFault& fault) { send(rpc_fault(id, fault)); }

// ---- asking

RpcWire::Answer RpcWire::ask(std::string_view method, std::string_view params, const Patience& patience) {
  const auto over = [&] { return patience.cancel.cancelled() || patience.also.cancelled(); };
  const auto asked = std::make_shared<Asked>();  // as asked_
  asked->late = patience.late;
  std::int64_t id = 0;
  {
    const MutexLock lock(mutex_);
    if (gone_) return RpcFault{kRpcCancelled, "the client has gone"};
    id = ++last_id_;
    asked_.emplace(id, asked);
  }
  send(rpc_request(RpcId(id), method, params));
  {
    const MutexLock lock(mutex_);
    for (;;) {
      if (asked->answered) return std::move(asked->answer);
      if (gone_ || over() || patience.deadline.passed(clock_)) break;
      changed_.wait_for(mutex_, clock_, std::clamp(patience.deadline.left(clock_), Milliseconds(1), kSlice));
    }
    asked->left = true;
    if (!asked->late || gone_) asked_.erase(id);
    if (gone_) return RpcFault{kRpcCancelled, "the client has gone"};
  }
  send(rpc_cancel(cancelling_, RpcId(id)));
  return RpcFault{kRpcCancelled, over() ? "it was cancelled" : "the client has not answered in time"};
}

void RpcWire::order(std::string_view method, std::string_view params) {
  std::int64_t id = 0;
  {
    const MutexLock lock(mutex_);
    if (gone_) return;
    id = ++last_id_;
  }
  send(rpc_request(RpcId(id), method, params));
}

bool RpcWire::is_gone() const {
  const MutexLock lock(mutex_);
  return gone_;
}

void RpcWire::end() {
  const MutexLock lock(mutex_);
  gone_ = true;
  changed_.notify_all();
}

}  // namespace agentd
