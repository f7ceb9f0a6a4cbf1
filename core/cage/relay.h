// SPDX-License-Identifier: Apache-2.0
#pragma once
// relay.h - a port of this machine, inside of the cage, whose connections lead to agentd's proxy (proxy.h) over its
// unix socket.
//
// It copies bytes and understands none. Beyond kConnectionsMax connections, or half of the descriptors that this
// process may open, new ones wait.
//
// Threading: one thread, which polls.

#include <poll.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/file.h"
#include "core/base/result.h"

namespace agentd::cage {

class Relay {
 public:
  static constexpr std::size_t kConnectionsMax = 128;

  // Listens at 127.0.0.1 at a free port. kUnavailable: there is no loopback.
  static Result<Relay> listen(std::string proxy);
  std::uint16_t port() const { return port_; }

  // True when a new connection could not be served: ask again after a moment, or when something is ready.
  bool pauses() const { return pauses_; }
  // Appends what it waits for; `ready` is the same list afterwards, from the first it has appended.
  void wait_for(std::vector<pollfd>& list) const;
  void serve(const pollfd* ready);

 private:
  struct Half {
    UniqueFd socket;
    std::array<char, 16 * 1024> held{};  // read from it, not yet written to the other
    std::size_t begin = 0, end = 0;
    bool finished = false;  // nothing more comes from it
    bool told = false;      // the other was told so
  };
  struct Pair {
    std::array<Half, 2> half;
  };
  Relay(UniqueFd listener, std::uint16_t port, std::string proxy);
  static short wanted(const Half& half, const Half& other);
  // False when the connection has ended.
  static bool move(Half& from, Half& to);
  // False when it has to wait: descriptors are short, or the proxy has too many.
  bool accept_one();

  UniqueFd listener_;
  std::uint16_t port_ = 0;
  std::string proxy_;
  std::size_t most_ = kConnectionsMax;
  bool pauses_ = false;
  std::vector<Pair> pairs_;
};

}  // namespace agentd::cage
