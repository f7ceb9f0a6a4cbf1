// SPDX-License-Identifier: Apache-2.0
#pragma once
// http_connection.h - one connection: its requests one after the other, each with its limits and times, and the
// answers.
//
// Threading: as each member says.

#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/serve/http_asio.h"
#include "core/serve/http_body.h"
#include "core/serve/http_engine.h"
#include "core/serve/http_head.h"
#include "core/serve/live_exchange.h"

namespace agentd::serve {

// Its functions are called on the server's thread, except for the first three.
class HttpConnection final : public Wire, public EngineConnection, public std::enable_shared_from_this<HttpConnection> {
 public:
  HttpConnection(std::shared_ptr<HttpEngine> engine, AsioSocket socket, HttpPeer peer, std::uint16_t port)
      : engine_(std::move(engine)),
        socket_(std::move(socket)),
        timer_(engine_->io),
        peer_(std::move(peer)),
        port_(port),
        head_end_(engine_->limits.head_bytes) {}

  bool post(std::function<void()> task) override { return engine_->post(std::move(task)); }
  void release_body(std::size_t bytes) override { engine_->body_bytes -= bytes; }
  std::shared_ptr<StreamQueue> make_queue(std::size_t bytes, std::function<void()> on_gone) override;
  void answer(const HttpReply& reply) override;
  void begin_stream(const HttpReply& head, std::shared_ptr<StreamQueue> queue) override;
  void look_at_stream() override;
  void drop_stream() override;
  void make_room() override { engine_->make_room(); }

  void start() override;
  void drain() override;
  void close(bool at_once) override;
  std::string peer_key() const override {
    return peer_.door == HttpPeer::Door::kTcp ? "tcp" : "uid " + std::to_string(peer_.uid);
  }
  Loss loss() const override {
    if (phase_ == Phase::kLingering) return Loss::kAnswered;
    return phase_ == Phase::kHead ? Loss::kSilent : Loss::kIdle;
  }
  std::size_t waiting_bytes() const override { return stream_ ? stream_->waiting() : 0; }
  bool owes_answer() const override {
    return phase_ != Phase::kIdle && phase_ != Phase::kHead && phase_ != Phase::kLingering;
  }

 private:
  enum class Phase : std::uint8_t {
    kHead,       // waits for a head
    kIdle,       // the same, and no byte of it has come since the last answer
    kBody,       // the gate has opened
    kHandler,    // the handler has the request
    kAnswering,  // the whole answer is known
    kStreaming,  // its body goes on
    kLingering,  // the client reads the last answer
    kClosed,
  };

  void wait_in(Phase phase, Milliseconds time);
  void stop_waiting();
  void next_request();
  void next_head();
  void take_head(std::size_t bytes);
  bool begin_body(std::string_view head);
  void feed_body();
  void hand_over();
  void refuse(const HttpReply& reply);
  void send_answer(const HttpReply& reply);
  void hold_body(std::size_t bytes);

  void read(std::size_t piece);
  void on_read(bool failed, std::size_t bytes);
  void write();
  void on_written(bool failed, std::size_t bytes);
  void written();
  void linger();
  void end_stream(bool complete);

  void arm(Milliseconds time);
  void disarm();
  void on_time();

  std::string_view arrived() const { return {static_cast<const char*>(in_.cdata().data()), in_.size()}; }

  const std::shared_ptr<HttpEngine> engine_;
  AsioSocket socket_;
  asio::steady_timer timer_;
  std::uint64_t armed_ = 0;  // which use of the timer is the last, as a call of an earlier one may be on its way
  const HttpPeer peer_;
  const std::uint16_t port_;
  Phase phase_ = Phase::kHead;
  std::list<EngineConnection*>::iterator waiting_{};
  bool waits_ = false, reading_ = false, writing_ = false;  // waits_: waiting_ is its place
  bool closes_ = false, is_head_ = false, last_chunk_ = false;

  boost::beast::flat_buffer in_;
  HeadEnd head_end_;
  HttpHead head_;
  std::optional<HttpBody> body_;
  std::size_t body_max_ = 0;   // of the request
  std::size_t body_held_ = 0;  // its share of HttpEngine::body_bytes
  std::string out_;
  std::size_t out_at_ = 0;
  std::shared_ptr<StreamQueue> stream_;
};

}  // namespace agentd::serve
