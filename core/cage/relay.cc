// SPDX-License-Identifier: Apache-2.0
#include "core/cage/relay.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/cage/connection_share.h"

namespace agentd::cage {

// Each connection has two descriptors.
Relay::Relay(UniqueFd listener, std::uint16_t port, std::string proxy)
    : listener_(std::move(listener)), port_(port), proxy_(std::move(proxy)) {
  rlimit descriptors{};
  if (::getrlimit(RLIMIT_NOFILE, &descriptors) == 0)
    most_ = static_cast<std::size_t>(std::clamp<rlim_t>(descriptors.rlim_cur / 4, 1, kConnectionsMax));
}

Result<Relay> Relay::listen(std::string proxy) {
  UniqueFd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  socklen_t bytes = sizeof address;
  if (!listener.valid() || ::bind(listener.get(), any, bytes) != 0 || ::listen(listener.get(), 64) != 0 ||
      ::getsockname(listener.get(), any, &bytes) != 0)
    return Error{Code::kUnavailable, "the sandbox has no loopback: " + std::string(std::strerror(errno))};
  return Relay(std::move(listener), ntohs(address.sin_port), std::move(proxy));
}

short Relay::wanted(const Half& half, const Half& other) {
  const bool reads = !half.finished && half.begin == half.end;
  const bool writes = other.begin != other.end;
  return static_cast<short>((reads ? POLLIN : 0) | (writes ? POLLOUT : 0));
}

void Relay::wait_for(std::vector<pollfd>& list) const {
  list.push_back({pairs_.size() < most_ && !pauses_ ? listener_.get() : -1, POLLIN, 0});
  for (const Pair& pair : pairs_)
    for (std::size_t side = 0; side < 2; ++side) {
      const short events = wanted(pair.half[side], pair.half[1 - side]);
      list.push_back({events == 0 ? -1 : pair.half[side].socket.get(), events, 0});
    }
}

bool Relay::move(Half& from, Half& to) {
  if (from.begin == from.end && !from.finished) {
    const ssize_t got = ::recv(from.socket.get(), from.held.data(), from.held.size(), MSG_DONTWAIT);
    if (got < 0 && errno != EAGAIN && errno != EINTR) return false;
    if (got == 0) from.finished = true;
    from.begin = 0;
    from.end = got > 0 ? static_cast<std::size_t>(got) : 0;
  }
  if (from.begin != from.end) {
    const ssize_t put =
        ::send(to.socket.get(), from.held.data() + from.begin, from.end - from.begin, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (put < 0 && errno != EAGAIN && errno != EINTR) return false;
    if (put > 0) from.begin += static_cast<std::size_t>(put);
  }
  if (from.finished && from.begin == from.end && !from.told) {
    from.told = true;
    ::shutdown(to.socket.get(), SHUT_WR);
  }
  return !(from.told && to.told);
}

// The way out first: a client is not accepted before it can be served. An unreachable proxy ends it.
bool Relay::accept_one() {
  UniqueFd outside(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (!outside.valid()) return false;
  std::memcpy(address.sun_path, proxy_.data(), std::min(proxy_.size(), sizeof address.sun_path - 1));
  const bool reached = ::connect(outside.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  if (!reached && errno == EAGAIN) return false;
  UniqueFd inside(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!inside.valid()) return !is_shortage(errno);
  if (!reached) return true;
  Pair& pair = pairs_.emplace_back();
  pair.half[0].socket = std::move(inside);
  pair.half[1].socket = std::move(outside);
  return true;
}

void Relay::serve(const pollfd* ready) {
  const pollfd* at = ready + 1;
  std::vector<bool> ended(pairs_.size());
  for (std::size_t i = 0; i < pairs_.size(); ++i, at += 2) {
    auto& [inside, outside] = pairs_[i].half;
    if ((at[0].revents | at[1].revents) == 0) continue;
    ended[i] = !move(inside, outside) || !move(outside, inside);
  }
  std::size_t index = 0;
  std::erase_if(pairs_, [&](const Pair&) { return ended[index++]; });
  pauses_ = ready->revents != 0 && !accept_one();
}

}  // namespace agentd::cage
