// SPDX-License-Identifier: Apache-2.0
#include "bench/net/stream_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vector>

#include "core/base/result.h"

namespace agentd::bench {
namespace {

void send_whole(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
}

// All requests are read, all headers sent, and then in turns a piece to each.
void serve(int listener, int opened, int begin, const Streams& streams) {
  constexpr std::string_view kHead =
      "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n: open\n\n";
  std::vector<UniqueFd> clients;
  for (std::size_t i = 0; i < streams.count; ++i) {
    clients.emplace_back(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
    const int on = 1;
    ::setsockopt(clients.back().get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    std::string request(4096, '\0');
    if (::recv(clients.back().get(), request.data(), request.size(), 0) <= 0) return;
    send_whole(clients.back().get(), kHead);
  }
  char byte = 'x';
  if (::write(opened, &byte, 1) != 1 || ::read(begin, &byte, 1) != 1) return;
  std::string piece;
  for (std::size_t i = 0; i < streams.events; ++i) piece += event();
  for (std::size_t round = 0; round < streams.rounds; ++round) {
    for (const UniqueFd& client : clients) send_whole(client.get(), piece);
    if (streams.pause_us != 0) ::usleep(streams.pause_us);
  }
}

}  // namespace

const std::string& event() {
  static const std::string kEvent =
      "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":"
      "{\"type\":\"text_delta\",\"text\":\" a word or two\"}}\n\n";
  return kEvent;
}

std::size_t Streams::bytes() const { return count * rounds * events * event().size(); }

StreamServer::StreamServer(const Streams& streams) {
  const UniqueFd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  AGENTD_ASSERT(::bind(listener.get(), any, size) == 0 && ::listen(listener.get(), 4096) == 0);
  AGENTD_ASSERT(::getsockname(listener.get(), any, &size) == 0);
  port_ = ntohs(address.sin_port);
  int opened[2], begin[2];
  AGENTD_ASSERT(::pipe(opened) == 0 && ::pipe(begin) == 0);
  opened_ = UniqueFd(opened[0]);
  begin_ = UniqueFd(begin[1]);
  child_ = ::fork();
  AGENTD_ASSERT(child_ >= 0);
  if (child_ == 0) {
    serve(listener.get(), opened[1], begin[0], streams);
    ::_exit(0);
  }
  ::close(opened[1]);
  ::close(begin[0]);
}

StreamServer::~StreamServer() {
  begin_.reset();
  ::waitpid(child_, nullptr, 0);
}

void StreamServer::wait_until_open() const {
  char byte = 0;
  AGENTD_ASSERT(::read(opened_.get(), &byte, 1) == 1);
}

void StreamServer::begin() const {
  const char byte = 'x';
  AGENTD_ASSERT(::write(begin_.get(), &byte, 1) == 1);
}

}  // namespace agentd::bench
