// SPDX-License-Identifier: Apache-2.0
#pragma once
// http_door.h - accepts the connections of one listener.
//
// Threading: the server's thread alone, but for the constructor.

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>

#include "core/serve/http_asio.h"
#include "core/serve/http_engine.h"
#include "core/serve/listener.h"

namespace agentd::serve {

class HttpDoor final : public EngineDoor, public std::enable_shared_from_this<HttpDoor> {
 public:
  // The engine owns it.
  HttpDoor(HttpEngine& engine, Listener listener)
      : engine_(engine),
        port_(listener.port),
        file_(std::move(listener.file)),
        descriptor_(engine.io),
        pause_(engine.io) {
    descriptor_.assign(listener.fd.get(), failed_);
    if (!failed_) (void)listener.fd.release();
  }
  const AsioFailed& failed() const { return failed_; }
  void wait() override;
  void close() override;

 private:
  void accept();
  void enter(Accepted entering);
  void pause(int error_number);

  HttpEngine& engine_;
  const std::uint16_t port_;
  SocketFile file_;
  asio::posix::stream_descriptor descriptor_;
  asio::steady_timer pause_;
  AsioFailed failed_;
  bool closed_ = false, paused_ = false;
};

}  // namespace agentd::serve
