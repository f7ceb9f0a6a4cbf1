// SPDX-License-Identifier: Apache-2.0
#include "core/serve/http_connection.h"

#include "core/serve/http_reply.h"

namespace agentd::serve {
namespace {

constexpr std::size_t kHeadPiece = 4u << 10, kBodyPiece = 64u << 10;  // bytes that are read at once
constexpr std::size_t kIdleBufferMax = 64u << 10;
constexpr Milliseconds kLingerTime{1'000};  // in which a client may read the answer before its connection ends

HttpReply too_many_bodies() {
  HttpReply reply = error_reply(503, "busy", "too many requests with large bodies are under way: send it again later");
  reply.fields.emplace_back("Retry-After", "2");
  return reply;
}

HttpReply body_too_large(std::size_t most) {
  return error_reply(413, "body_too_large", "the body has over " + std::to_string(most) + " bytes");
}
HttpReply too_late() { return error_reply(408, "timeout", "the request did not come in time"); }

}  // namespace

// ---- requests

void HttpConnection::start() {
  wait_in(Phase::kHead, engine_->limits.head_time);
  next_head();
}

void HttpConnection::wait_in(Phase phase, Milliseconds time) {
  stop_waiting();
  phase_ = phase;
  waiting_ = engine_->waiting.insert(engine_->waiting.end(), this);
  waits_ = true;
  arm(time);
}

void HttpConnection::stop_waiting() {
  if (std::exchange(waits_, false)) engine_->waiting.erase(waiting_);
}

void HttpConnection::next_request() {
  if (engine_->draining) return close(false);
  head_end_ = HeadEnd(engine_->limits.head_bytes);
  if (in_.size() != 0) return start();
  if (in_.capacity() > kIdleBufferMax) in_.shrink_to_fit();
  wait_in(Phase::kIdle, engine_->limits.idle_time);
  read(kHeadPiece);
}

void HttpConnection::next_head() {
  const Result<std::size_t, HttpReply> end = head_end_.find(arrived());
  if (!end) return refuse(end.error());
  if (*end == 0) return read(kHeadPiece);
  take_head(*end);
}

void HttpConnection::take_head(std::size_t bytes) {
  stop_waiting();
  disarm();
  Result<HttpHead, HttpReply> head = read_head(arrived().substr(0, bytes), engine_->limits.fields);
  if (!head) return refuse(head.error());
  ++engine_->requests;
  head_ = *std::move(head);
  head_.request.peer = peer_;
  head_.request.port = port_;
  closes_ = head_.closes;
  is_head_ = head_.request.method == "HEAD";
  if (const std::optional<HttpReply> answer = engine_->gate(head_.request)) return refuse(*answer);
  if (!begin_body(arrived().substr(0, bytes))) return;
  in_.consume(bytes);
  if (body_->is_done()) return hand_over();
  phase_ = Phase::kBody;
  arm(engine_->limits.body_time);
  if (!head_.waits || in_.size() != 0) return feed_body();
  out_ = "HTTP/1.1 100 Continue\r\n\r\n";
  write();
}

// False: the request was refused.
bool HttpConnection::begin_body(std::string_view head) {
  const HttpLimits& limits = engine_->limits;
  body_max_ = engine_->body_max ? engine_->body_max(head_.request) : limits.body_bytes;
  if (head_.length > body_max_) return refuse(body_too_large(body_max_)), false;
  if (engine_->body_bytes + head_.length > limits.bodies_bytes) return refuse(too_many_bodies()), false;
  body_.emplace();
  if (body_->begin(head, head_)) return true;
  return refuse(error_reply(400, "bad_request", "the head of the request cannot be read")), false;
}

void HttpConnection::feed_body() {
  if (in_.size() == 0) return read(kBodyPiece);
  const std::optional<std::size_t> taken = body_->take(arrived());
  if (!taken)
    return refuse(error_reply(400, "bad_request", "the body must be whole chunks without extensions and trailers"));
  in_.consume(*taken);
  hold_body(body_->size());
  if (body_held_ > body_max_) return refuse(body_too_large(body_max_));
  if (engine_->body_bytes > engine_->limits.bodies_bytes) return refuse(too_many_bodies());
  if (!body_->is_done()) return read(kBodyPiece);
  hand_over();
}

void HttpConnection::hold_body(std::size_t bytes) {
  engine_->body_bytes += bytes;
  engine_->body_bytes -= std::exchange(body_held_, bytes);
}

void HttpConnection::hand_over() {
  disarm();
  phase_ = Phase::kHandler;
  body_held_ = 0;  // the exchange has it
  std::string body = body_->release();
  body_.reset();
  engine_->handler(live_exchange(shared_from_this(), std::move(head_.request), std::move(body)));
}

// ---- answers

void HttpConnection::answer(const HttpReply& reply) {
  if (phase_ == Phase::kHandler) send_answer(reply);
}

void HttpConnection::refuse(const HttpReply& reply) {
  stop_waiting();
  hold_body(0);
  body_.reset();
  closes_ = true;
  send_answer(reply);
}

void HttpConnection::send_answer(const HttpReply& reply) {
  phase_ = Phase::kAnswering;
  closes_ = closes_ || engine_->draining;
  out_ = reply_bytes(reply, is_head_ ? ReplyBody::kAbsent : ReplyBody::kWhole, closes_, engine_->clock.wall_ms());
  write();
}

void HttpConnection::begin_stream(const HttpReply& head, std::shared_ptr<StreamQueue> queue) {
  if (phase_ != Phase::kHandler) return queue->end(false);
  ++engine_->streams;
  stream_ = std::move(queue);
  phase_ = Phase::kStreaming;
  closes_ = true;
  out_ = reply_bytes(head, ReplyBody::kChunks, closes_, engine_->clock.wall_ms());
  if (is_head_) {
    last_chunk_ = true;
    stream_->end(false);
  }
  write();
  // The client has nothing more to say: its end is noticed.
  read(kHeadPiece);
  if (engine_->draining) drain();
}

// A stream with a bound of its own has no part in that of all streams.
std::shared_ptr<StreamQueue> HttpConnection::make_queue(std::size_t bytes, std::function<void()> on_gone) {
  if (bytes != 0) {
    const StreamQueue::Limits own{bytes, bytes};
    return std::make_shared<StreamQueue>(own, std::make_shared<std::atomic<std::uint64_t>>(0), std::move(on_gone));
  }
  const StreamQueue::Limits limits{engine_->limits.stream_bytes, engine_->limits.streams_bytes};
  return std::make_shared<StreamQueue>(limits, engine_->stream_bytes, std::move(on_gone));
}

// Takes what is queued, unless it still writes what it took before.
void HttpConnection::look_at_stream() {
  if (phase_ != Phase::kStreaming || writing_ || last_chunk_) return;
  const StreamQueue::Taken taken = stream_->take();
  if (!taken.bytes.empty()) out_ = chunk(taken.bytes);
  if (taken.last) out_ += kLastChunk;
  last_chunk_ = taken.last;
  if (out_.empty()) return disarm();
  write();
}

void HttpConnection::drop_stream() {
  if (phase_ != Phase::kStreaming) return;
  ++engine_->streams_dropped;
  close(true);
}

void HttpConnection::end_stream(bool complete) {
  if (!stream_) return;
  --engine_->streams;
  const std::shared_ptr<StreamQueue> queue = std::exchange(stream_, nullptr);
  queue->end(complete);
}

// The client may still send: unread bytes would make the system reset the connection, and the answer would be lost.
void HttpConnection::linger() {
  in_.consume(in_.size());
  AsioFailed ignored;
  socket_.shutdown(AsioSocket::shutdown_send, ignored);
  wait_in(Phase::kLingering, kLingerTime);
  read(kHeadPiece);
}

void HttpConnection::drain() {
  if (phase_ == Phase::kHead || phase_ == Phase::kIdle) return close(false);
  if (phase_ != Phase::kStreaming || last_chunk_) return;
  stream_->end_soon();
  look_at_stream();
}

void HttpConnection::close(bool at_once) {
  if (phase_ == Phase::kClosed) return;
  const std::shared_ptr<HttpConnection> self = shared_from_this();
  stop_waiting();
  disarm();
  phase_ = Phase::kClosed;
  hold_body(0);
  body_.reset();
  AsioFailed ignored;
  if (at_once) socket_.set_option(asio::socket_base::linger(true, 0), ignored);
  socket_.close(ignored);
  end_stream(false);
  engine_->remove(self);
}

// ---- bytes

void HttpConnection::read(std::size_t piece) {
  if (std::exchange(reading_, true)) return;
  socket_.async_read_some(in_.prepare(piece), [self = shared_from_this()](const AsioFailed& failed, std::size_t bytes) {
    self->on_read(static_cast<bool>(failed), bytes);
  });
}

void HttpConnection::on_read(bool failed, std::size_t bytes) {
  reading_ = false;
  in_.commit(bytes);
  switch (phase_) {
    case Phase::kClosed:
    case Phase::kHandler:
    case Phase::kAnswering:
      return;
    default:
      if (failed) return close(false);
  }
  switch (phase_) {
    case Phase::kIdle:
      return start();
    case Phase::kHead:
      return next_head();
    case Phase::kBody:
      return feed_body();
    default:
      in_.consume(in_.size());
      return read(kHeadPiece);
  }
}

void HttpConnection::write() {
  writing_ = true;
  arm(engine_->limits.write_time);
  socket_.async_write_some(asio::const_buffer(out_.data() + out_at_, out_.size() - out_at_),
                           [self = shared_from_this()](const AsioFailed& failed, std::size_t bytes) {
                             self->on_written(static_cast<bool>(failed), bytes);
                           });
}

void HttpConnection::on_written(bool failed, std::size_t bytes) {
  writing_ = false;
  if (phase_ == Phase::kClosed) return;
  if (failed) return close(false);
  out_at_ += bytes;
  if (stream_) stream_->count_taken(out_.size() - out_at_);
  if (out_at_ < out_.size()) return write();
  out_ = {};
  out_at_ = 0;
  written();
}

void HttpConnection::written() {
  switch (phase_) {
    case Phase::kBody:
      arm(engine_->limits.body_time);
      return feed_body();
    case Phase::kStreaming:
      if (!last_chunk_) return look_at_stream();
      end_stream(true);
      return linger();
    default:
      return closes_ ? linger() : next_request();
  }
}

// ---- times

void HttpConnection::arm(Milliseconds time) {
  timer_.expires_after(time);
  timer_.async_wait([self = shared_from_this(), armed = ++armed_](const AsioFailed& failed) {
    if (!failed && armed == self->armed_) self->on_time();
  });
}

void HttpConnection::disarm() {
  ++armed_;
  timer_.cancel();
}

void HttpConnection::on_time() {
  if (phase_ == Phase::kIdle || phase_ == Phase::kLingering) return close(false);
  ++engine_->timed_out;
  if (phase_ == Phase::kHead) return in_.size() == 0 ? close(false) : refuse(too_late());
  if (phase_ == Phase::kBody && !writing_) return refuse(too_late());
  if (phase_ == Phase::kStreaming) ++engine_->streams_dropped;
  close(true);
}

}  // namespace agentd::serve
