// SPDX-License-Identifier: Apache-2.0
#include "core/serve/http_door.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "core/serve/http_connection.h"

namespace agentd::serve {
namespace {

constexpr Milliseconds kAcceptPause{100};  // when no descriptor is left
constexpr int kAcceptsAtOnce = 64;

}  // namespace

void HttpDoor::wait() {
  descriptor_.async_wait(asio::posix::stream_descriptor::wait_read,
                         [self = shared_from_this()](const AsioFailed& failed) {
                           if (!failed && !self->closed_) self->accept();
                         });
}

void HttpDoor::accept() {
  for (int i = 0; i < kAcceptsAtOnce; ++i) {
    Result<Accepted, int> accepted = accept_from(descriptor_.native_handle());
    if (accepted) {
      paused_ = false;
      enter(*std::move(accepted));
      continue;
    }
    const int error_number = accepted.error();
    if (error_number == EAGAIN || error_number == EWOULDBLOCK) break;
    if (error_number == EMFILE || error_number == ENFILE || error_number == ENOBUFS || error_number == ENOMEM) {
      // The system looks for a descriptor before it looks for a connection, so that there may be none.
      if (i > 0) break;
      return pause(error_number);
    }
    // Anything else belongs to the one connection, which has ended already.
  }
  wait();
}

void HttpDoor::enter(Accepted entering) {
  const bool local = entering.peer.door == HttpPeer::Door::kUnix;
  if (local && entering.peer.uid != ::geteuid()) {
    ++engine_.refused;
    return engine_.log.write(LogLevel::kWarning, "serve",
                             "a connection of user " + std::to_string(entering.peer.uid) + " was refused");
  }
  AsioFailed failed;
  AsioSocket socket(engine_.io);
  const int family = local ? AF_UNIX : entering.peer.address.find(':') == std::string::npos ? AF_INET : AF_INET6;
  socket.assign(asio::generic::stream_protocol(family, 0), entering.fd.get(), failed);
  if (failed) return;
  (void)entering.fd.release();
  engine_.admit(
      std::make_shared<HttpConnection>(engine_.shared_from_this(), std::move(socket), std::move(entering.peer), port_));
}

// The system would report the same connection again at once.
void HttpDoor::pause(int error_number) {
  if (!std::exchange(paused_, true))
    engine_.log.write(LogLevel::kWarning, "serve",
                      std::string("no connection can be accepted for now: ") + std::strerror(error_number));
  (void)engine_.close_waiting(nullptr);
  pause_.expires_after(kAcceptPause);
  pause_.async_wait([self = shared_from_this()](const AsioFailed& failed) {
    if (!failed && !self->closed_) self->wait();
  });
}

void HttpDoor::close() {
  closed_ = true;
  pause_.cancel();
  AsioFailed ignored;
  descriptor_.close(ignored);
  file_.remove();
}

}  // namespace agentd::serve
