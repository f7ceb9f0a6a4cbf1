// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/serve/client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstdlib>
#include <cstring>

namespace agentd::serve::testing {
namespace {

constexpr int kPatienceS = 60;

UniqueFd connected_to(const sockaddr* address, socklen_t bytes) {
  UniqueFd fd(::socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  timeval patience{};
  patience.tv_sec = kPatienceS;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  ::setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  return ::connect(fd.get(), address, bytes) == 0 ? std::move(fd) : UniqueFd();
}

// The value of a field of an answer's head.
std::string field(const std::string& head, const std::string& name) {
  const std::size_t at = head.find("\r\n" + name + ": ");
  if (at == std::string::npos) return "";
  const std::size_t from = at + name.size() + 4;
  return head.substr(from, head.find("\r\n", from) - from);
}

}  // namespace

Client Client::tcp(std::uint16_t port, const std::string& address) {
  if (address.find(':') != std::string::npos) {
    sockaddr_in6 to{};
    to.sin6_family = AF_INET6;
    to.sin6_port = htons(port);
    ::inet_pton(AF_INET6, address.c_str(), &to.sin6_addr);
    return Client(connected_to(reinterpret_cast<const sockaddr*>(&to), sizeof to));
  }
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  ::inet_pton(AF_INET, address.c_str(), &to.sin_addr);
  return Client(connected_to(reinterpret_cast<const sockaddr*>(&to), sizeof to));
}

Client Client::local(const std::string& path) {
  sockaddr_un to{};
  to.sun_family = AF_UNIX;
  std::strncpy(to.sun_path, path.c_str(), sizeof to.sun_path - 1);
  return Client(connected_to(reinterpret_cast<const sockaddr*>(&to), sizeof to));
}

bool Client::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (put <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
  return true;
}

bool Client::more() {
  char piece[64 << 10];
  const ssize_t got = ::recv(fd_.get(), piece, sizeof piece, 0);
  if (got > 0) in_.append(piece, static_cast<std::size_t>(got));
  return got > 0;
}

std::string Client::take(std::size_t bytes) {
  while (in_.size() < bytes)
    if (!more()) return "";
  const std::string out = in_.substr(0, bytes);
  in_.erase(0, bytes);
  return out;
}

std::string Client::take_line() {
  while (in_.find("\r\n") == std::string::npos)
    if (!more()) return "";
  return take(in_.find("\r\n") + 2);
}

Answer Client::read_head() {
  Answer out;
  while (in_.find("\r\n\r\n") == std::string::npos)
    if (!more()) return out;
  out.head = take(in_.find("\r\n\r\n") + 4);
  if (out.head.starts_with("HTTP/1.1 ")) out.status = static_cast<unsigned>(std::atoi(out.head.c_str() + 9));
  return out;
}

std::string Client::read_chunk() {
  const std::size_t size = std::strtoul(take_line().c_str(), nullptr, 16);
  const std::string bytes = take(size + 2);
  return bytes.size() < 2 ? "" : bytes.substr(0, size);
}

Answer Client::read() {
  Answer out = read_head();
  if (out.has("Transfer-Encoding: chunked")) {
    for (std::string part = read_chunk(); !part.empty(); part = read_chunk()) out.body += part;
  } else if (const std::string length = field(out.head, "Content-Length"); !length.empty()) {
    out.body = take(std::strtoul(length.c_str(), nullptr, 10));
  }
  return out;
}

std::string Client::rest() {
  while (more()) continue;
  return std::exchange(in_, {});
}

void Client::finish() { ::shutdown(fd_.get(), SHUT_WR); }

bool Event::wait(int times) {
  const Deadline deadline = Deadline::after(clock_, Milliseconds(kPatienceS * 1'000));
  const MutexLock lock(mutex_);
  while (times_ < times)
    if (!changed_.wait_until(mutex_, clock_, deadline)) return false;
  return true;
}

bool becomes(const std::function<bool()>& holds) {
  const SystemClock clock;
  const Deadline deadline = Deadline::after(clock, Milliseconds(kPatienceS * 1'000));
  while (!holds()) {
    if (deadline.passed(clock)) return false;
    clock.pause(Milliseconds(1));
  }
  return true;
}

std::string get(std::string_view target, std::string_view fields) {
  return "GET " + std::string(target) + " HTTP/1.1\r\nHost: 127.0.0.1\r\n" + std::string(fields) + "\r\n";
}

std::string post(std::string_view target, std::string_view body, std::string_view fields) {
  return "POST " + std::string(target) + " HTTP/1.1\r\nHost: 127.0.0.1\r\n" + std::string(fields) +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + std::string(body);
}

HttpReply echo(const HttpExchange& exchange) {
  HttpReply reply;
  reply.content_type = "text/plain";
  reply.body = exchange.head().method + " " + exchange.head().target + " " + std::to_string(exchange.body().size()) +
               " " + exchange.body().substr(0, 64);
  return reply;
}

Served::Served(HttpServerOptions options, HttpHandler handler, HttpGate gate) {
  if (options.places.empty()) options.places.push_back({"127.0.0.1", 0});
  if (!handler) handler = [](const std::shared_ptr<HttpExchange>& exchange) { exchange->reply(echo(*exchange)); };
  if (!gate) gate = [](const RequestHead&) { return std::nullopt; };
  auto started = HttpServer::start(std::move(options), std::move(gate), std::move(handler), clock, log);
  if (!started) return;
  server = *std::move(started);
  port = server->ports().front();
}

}  // namespace agentd::serve::testing
