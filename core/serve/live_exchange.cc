// SPDX-License-Identifier: Apache-2.0
#include "core/serve/live_exchange.h"

#include <algorithm>
#include <utility>

namespace agentd::serve {
namespace {

class Stream final : public HttpStream {
 public:
  Stream(std::shared_ptr<Wire> wire, std::shared_ptr<StreamQueue> queue)
      : wire_(std::move(wire)), queue_(std::move(queue)) {}
  ~Stream() override { Stream::close(); }
  bool send(std::string bytes) override {
    const StreamQueue::Put put = queue_->put(std::move(bytes));
    return ask(put.asks) && put.queued;
  }
  void when_taken(std::function<void()> next) override { queue_->when_taken(std::move(next)); }
  void close() override { (void)ask(queue_->close()); }

 private:
  // False: the server has ended.
  bool ask(StreamQueue::Asks what) {
    if (what == StreamQueue::Asks::kLook) return wire_->post([wire = wire_] { wire->look_at_stream(); });
    if (what == StreamQueue::Asks::kDrop) return wire_->post([wire = wire_] { wire->drop_stream(); });
    if (what == StreamQueue::Asks::kMakeRoom) {
      const auto make_room = [wire = wire_] {
        wire->make_room();
        wire->look_at_stream();
      };
      return wire_->post(make_room);
    }
    return true;
  }

  const std::shared_ptr<Wire> wire_;  // with the server's thread
  const std::shared_ptr<StreamQueue> queue_;
};

class LiveExchange final : public HttpExchange {
 public:
  LiveExchange(std::shared_ptr<Wire> wire, RequestHead head, std::string body)
      : wire_(std::move(wire)), head_(std::move(head)), body_(std::move(body)) {}
  ~LiveExchange() override {
    wire_->release_body(body_.size());
    LiveExchange::reply(error_reply(500, "internal", "the request was not answered"));
  }
  const RequestHead& head() const override { return head_; }
  const std::string& body() const override { return body_; }
  void reply(HttpReply reply) override {
    if (answered_.exchange(true)) return;
    (void)wire_->post([wire = wire_, reply = std::move(reply)] { wire->answer(reply); });
  }
  std::shared_ptr<HttpStream> stream(HttpReply head, std::function<void()> on_gone) override {
    const auto queue = wire_->make_queue(head.stream_bytes, std::move(on_gone));
    const auto begin = [wire = wire_, head = std::move(head), queue] { wire->begin_stream(head, queue); };
    if (answered_.exchange(true) || !wire_->post(begin)) queue->end(false);
    return std::make_shared<Stream>(wire_, queue);
  }

 private:
  const std::shared_ptr<Wire> wire_;  // with the server's thread
  const RequestHead head_;
  const std::string body_;
  std::atomic<bool> answered_{false};
};

}  // namespace

StreamQueue::~StreamQueue() {
  const MutexLock lock(mutex_);
  forget();
}

void StreamQueue::forget() {
  *all_ -= pending_.size() + std::exchange(taken_, 0);
  pending_ = {};
}

StreamQueue::Put StreamQueue::put(std::string bytes) {
  const MutexLock lock(mutex_);
  if (gone_ || closed_) return {};
  if (bytes.empty()) return {true, Asks::kNothing};
  const std::size_t queued = pending_.size() + taken_;
  if (queued != 0 && queued + bytes.size() > limits_.bytes) {
    gone_ = true;
    return {false, Asks::kDrop};
  }
  const bool full = (*all_ += bytes.size()) > limits_.all_bytes;
  if (pending_.empty())
    pending_ = std::move(bytes);
  else
    pending_ += bytes;
  const bool asked = std::exchange(asked_, true);
  return {true, full ? Asks::kMakeRoom : asked ? Asks::kNothing : Asks::kLook};
}

StreamQueue::Asks StreamQueue::close() {
  const MutexLock lock(mutex_);
  if (std::exchange(closed_, true) || gone_ || std::exchange(asked_, true)) return Asks::kNothing;
  return Asks::kLook;
}

std::size_t StreamQueue::waiting() const {
  const MutexLock lock(mutex_);
  return pending_.size() + taken_;
}

StreamQueue::Taken StreamQueue::take() {
  const MutexLock lock(mutex_);
  asked_ = false;
  if (gone_) return {};
  taken_ = pending_.size();
  return {std::exchange(pending_, {}), closed_};
}

std::function<void()> StreamQueue::take_next() {
  const bool waits = !gone_ && !closed_ && (taken_ != 0 || !pending_.empty());
  return waits ? nullptr : std::exchange(next_, nullptr);
}

void StreamQueue::when_taken(std::function<void()> next) {
  std::function<void()> now;
  {
    const MutexLock lock(mutex_);
    next_ = std::move(next);
    now = take_next();
  }
  if (now) now();
}

void StreamQueue::count_taken(std::size_t left) {
  std::function<void()> next;
  {
    const MutexLock lock(mutex_);
    left = std::min(taken_, left);
    *all_ -= taken_ - left;
    taken_ = left;
    next = take_next();
  }
  if (next) next();
}

void StreamQueue::end_soon() {
  std::function<void()> next;
  {
    const MutexLock lock(mutex_);
    closed_ = true;
    next = take_next();
  }
  if (next) next();
  tell();
}

void StreamQueue::end(bool complete) {
  std::function<void()> next;
  {
    const MutexLock lock(mutex_);
    gone_ = true;
    forget();
    next = take_next();
  }
  if (next) next();
  if (complete) on_gone_ = nullptr;
  tell();
}

void StreamQueue::tell() {
  if (const auto on_gone = std::exchange(on_gone_, nullptr)) on_gone();
}

std::shared_ptr<HttpExchange> live_exchange(std::shared_ptr<Wire> wire, RequestHead head, std::string body) {
  return std::make_shared<LiveExchange>(std::move(wire), std::move(head), std::move(body));
}

}  // namespace agentd::serve
