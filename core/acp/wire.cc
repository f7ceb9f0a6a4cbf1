// SPDX-License-Identifier: Apache-2.0
#include "core/acp/wire.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "core/codec/rpc_frames.h"

namespace agentd::acp {
namespace {

constexpr std::size_t kReadBytes = 64 * 1024;
constexpr std::size_t kMessageMax = 48u << 20;  // a prompt with the largest document, in base64
constexpr Milliseconds kSlice{50};

}  // namespace

// ---- reading

bool Wire::read_some(std::string& bytes, const CancelToken& cancel) {
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

void Wire::read_all(const Take& take, const CancelToken& cancel) {
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

void Wire::take_text(const std::string& text, const Take& take) {
  auto read = read_rpc(text, {kMessageMax});
  if (const auto* const refusal = std::get_if<RpcRefusal>(&read)) {
    if (refusal->answered) refuse(refusal->id, refusal->fault);
    return;
  }
  RpcMessage& message = std::get<RpcMessage>(read);
  const bool is_answer = message.kind == RpcMessage::Kind::kResult || message.kind == RpcMessage::Kind::kFault;
  if (is_answer)
    take_answer(std::move(message));
  else
    take(std::move(message));
}

void Wire::take_answer(RpcMessage message) {
  const MutexLock lock(mutex_);
  const auto found = asked_.find(message.id.number().value_or(0));
  if (found == asked_.end()) return;  // late, or an id that was never sent
  Asked& asked = *found->second;
  asked.answered = true;
  if (message.kind == RpcMessage::Kind::kFault)
    asked.answer = std::move(message.fault);
  else
    asked.answer = std::move(message.document);
  asked_.erase(found);
  changed_.notify_all();
}

// ---- writing

void Wire::send(std::string_view message) {
  const std::string line = rpc_frame(RpcFraming::kLines, message);
  const MutexLock writing(writing_);
  std::string_view rest = line;
  while (!rest.empty() && !is_gone()) {
    const ssize_t put = ::write(out_, rest.data(), rest.size());
    if (put >= 0) {
      rest.remove_prefix(static_cast<std::size_t>(put));
    } else if (errno == EAGAIN) {
      pollfd ready{out_, POLLOUT, 0};
      (void)clock_.poll_for({&ready, 1}, kSlice);
    } else if (errno != EINTR) {
      end();
    }
  }
}

void Wire::notify(std::string_view method, std::string_view params) { send(rpc_notification(method, params)); }

void Wire::answer(const RpcId& id, std::string_view result) { send(rpc_result(id, result)); }

void Wire::refuse(const RpcId& id, const RpcFault& fault) { send(rpc_fault(id, fault)); }

// ---- asking

Wire::Answer Wire::ask(std::string_view method, std::string_view params, const CancelToken& cancel) {
  const auto asked = std::make_shared<Asked>();
  std::int64_t id = 0;
  {
    const MutexLock lock(mutex_);
    if (gone_) return RpcFault{kRpcCancelled, "the editor has gone"};
    id = ++last_id_;
    asked_.emplace(id, asked);
  }
  send(rpc_request(RpcId(id), method, params));
  {
    MutexLock lock(mutex_);
    for (;;) {
      if (asked->answered) return std::move(asked->answer);
      if (gone_ || cancel.cancelled()) break;
      changed_.wait_for(mutex_, clock_, kSlice);
    }
    asked_.erase(id);
    if (gone_) return RpcFault{kRpcCancelled, "the editor has gone"};
  }
  send(rpc_cancel(kAcpCancelling, RpcId(id)));
  return RpcFault{kRpcCancelled, "it was cancelled"};
}

bool Wire::is_gone() const {
  const MutexLock lock(mutex_);
  return gone_;
}

void Wire::end() {
  const MutexLock lock(mutex_);
  gone_ = true;
  changed_.notify_all();
}

}  // namespace agentd::acp
