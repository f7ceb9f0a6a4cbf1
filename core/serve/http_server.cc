// SPDX-License-Identifier: Apache-2.0
#include "core/serve/http_server.h"

#include <utility>

#include "core/base/mutex.h"
#include "core/base/signals_blocked.h"
#include "core/base/thread.h"
#include "core/base/thrown.h"
#include "core/serve/http_door.h"
#include "core/serve/http_engine.h"

namespace agentd::serve {
namespace {

class Server final : public HttpServer {
 public:
  explicit Server(std::shared_ptr<HttpEngine> engine) : engine_(std::move(engine)) {}
  ~Server() override {
    if (!thread_.joinable()) return;
    (void)engine_->post([engine = engine_] { engine->stop(); });
    thread_.join();
  }

  Result<void> listen(HttpServerOptions options);
  Result<void> run() {
    const SignalsBlocked blocked;
    const std::string thrown = thrown_by([&] { thread_ = Thread([engine = engine_] { engine->run(); }); });
    if (!thrown.empty()) return Error{Code::kUnavailable, "the server cannot start its thread: " + thrown};
    (void)engine_->post([engine = engine_] {
      for (const auto& door : engine->doors) door->wait();
    });
    return {};
  }

  std::vector<std::uint16_t> ports() const override { return ports_; }
  HttpServerFigures figures() const override;
  bool drain(Deadline deadline) override;
  void ping(std::function<void()> done) override { (void)engine_->post(std::move(done)); }

 private:
  const std::shared_ptr<HttpEngine> engine_;
  std::vector<std::uint16_t> ports_;
  Thread thread_;
};

Result<void> Server::listen(HttpServerOptions options) {
  const auto open = [this](Listener listener) -> Result<void> {
    const auto door = std::make_shared<HttpDoor>(*engine_, std::move(listener));
    engine_->doors.push_back(door);
    if (door->failed()) return Error{Code::kUnavailable, "the server cannot listen: " + door->failed().message()};
    return {};
  };
  for (const HttpServerOptions::Place& place : options.places) {
    AGENTD_TRY(Listener listener, listen_on(place.address, place.port));
    ports_.push_back(listener.port);
    AGENTD_TRY_VOID(open(std::move(listener)));
  }
  for (UniqueFd& fd : options.inherited) {
    AGENTD_TRY(Listener listener, adopt(std::move(fd)));
    AGENTD_TRY_VOID(open(std::move(listener)));
  }
  if (options.socket.empty()) return {};
  AGENTD_TRY(Listener listener, listen_at(options.socket));
  return open(std::move(listener));
}

HttpServerFigures Server::figures() const {
  HttpServerFigures out;
  {
    const MutexLock lock(engine_->mutex);
    out.connections = engine_->open;
  }
  out.streams = engine_->streams;
  out.body_bytes = engine_->body_bytes;
  out.stream_bytes = *engine_->stream_bytes;
  out.accepted = engine_->accepted;
  out.refused = engine_->refused;
  out.requests = engine_->requests;
  out.timed_out = engine_->timed_out;
  out.streams_dropped = engine_->streams_dropped;
  return out;
}

bool Server::drain(Deadline deadline) {
  (void)engine_->post([engine = engine_] { engine->begin_drain(); });
  const MutexLock lock(engine_->mutex);
  while (!engine_->doors_closed) engine_->drained.wait(engine_->mutex);
  while (engine_->open != 0 && engine_->drained.wait_until(engine_->mutex, engine_->clock, deadline)) continue;
  if (engine_->open == 0) return true;
  engine_->add([engine = engine_] { engine->break_off(); });
  while (engine_->open != 0) engine_->drained.wait(engine_->mutex);
  return !engine_->broken_off;
}

}  // namespace

Result<std::unique_ptr<HttpServer>> HttpServer::start(HttpServerOptions options, HttpGate gate, HttpHandler handler,
                                                      const Clock& clock, Log& log) {
  std::unique_ptr<Server> server;
  const HttpLimits limits = options.limits;
  // Asio opens descriptors of its own.
  const std::string thrown = thrown_by([&] {
    const auto engine = std::make_shared<HttpEngine>(limits, std::move(gate), std::move(handler), clock, log);
    engine->body_max = options.body_max;
    server = std::make_unique<Server>(engine);
  });
  if (!thrown.empty()) return Error{Code::kUnavailable, "the server cannot start: " + thrown};
  AGENTD_TRY_VOID(server->listen(std::move(options)));
  AGENTD_TRY_VOID(server->run());
  return Result<std::unique_ptr<HttpServer>>(std::move(server));
}

}  // namespace agentd::serve
