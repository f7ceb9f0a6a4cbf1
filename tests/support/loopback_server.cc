// SPDX-License-Identifier: Apache-2.0
#include "tests/support/loopback_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <memory>

#include "core/base/result.h"
#include "tests/support/meeting.h"

namespace agentd::testing {
namespace {

constexpr std::string_view kStreamHead =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\nrequest-id: "
    "req_test\r\nx-request-id: req_test\r\n";

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

void set_no_delay(int fd) {
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

std::string hex_number(std::size_t value) {
  char text[17];
  const auto end = std::to_chars(text, text + sizeof text, value, 16).ptr;
  return std::string(text, end);
}

// The head of a request: its first line and headers.
void parse_head(std::string_view head, RecordedRequest& out) {
  const std::string_view first = head.substr(0, head.find("\r\n"));
  const std::size_t one = first.find(' ');
  const std::size_t two = first.rfind(' ');
  out.method = std::string(first.substr(0, one));
  if (two > one) out.target = std::string(first.substr(one + 1, two - one - 1));
  head.remove_prefix(std::min(first.size() + 2, head.size()));
  while (!head.empty()) {
    const std::string_view line = head.substr(0, head.find("\r\n"));
    head.remove_prefix(std::min(line.size() + 2, head.size()));
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    std::string_view value = line.substr(colon + 1);
    while (!value.empty() && value.front() == ' ') value.remove_prefix(1);
    out.headers.emplace_back(lower(line.substr(0, colon)), std::string(value));
  }
}

}  // namespace

std::string RecordedRequest::header(std::string_view lower_case_name) const {
  for (const auto& [name, value] : headers)
    if (name == lower_case_name) return value;
  return {};
}

Reply& Reply::send(std::string bytes) {
  steps.push_back({Act::kSend, std::move(bytes)});
  return *this;
}
Reply& Reply::stall() {
  steps.push_back({Act::kStall, {}});
  return *this;
}
Reply& Reply::repeat(std::string bytes) {
  steps.push_back({Act::kRepeat, std::move(bytes)});
  return *this;
}
Reply& Reply::reset() {
  steps.push_back({Act::kReset, {}});
  return *this;
}

Reply Reply::http(int status, const Headers& headers, std::string_view body) {
  std::string text = "HTTP/1.1 " + std::to_string(status) + " Test\r\n";
  for (const auto& [name, value] : headers) text += name + ": " + value + "\r\n";
  text += "content-length: " + std::to_string(body.size()) + "\r\n\r\n";
  Reply reply;
  reply.keep_alive = true;
  reply.send(text + std::string(body));
  return reply;
}

Reply Reply::stream(const std::vector<std::string>& pieces) {
  Reply reply;
  reply.send(std::string(kStreamHead) + "connection: close\r\n\r\n");
  for (const std::string& piece : pieces) reply.send(piece);
  return reply;
}

Reply Reply::chunked(const std::vector<std::string>& pieces, bool whole) {
  Reply reply;
  reply.keep_alive = whole;
  reply.send(std::string(kStreamHead) + "transfer-encoding: chunked\r\n\r\n");
  for (const std::string& piece : pieces)
    if (!piece.empty()) reply.send(hex_number(piece.size()) + "\r\n" + piece + "\r\n");
  if (whole) reply.send("0\r\n\r\n");
  return reply;
}

std::vector<std::string> cut_at(std::string_view text, const std::vector<std::size_t>& offsets) {
  std::vector<std::string> pieces;
  std::size_t from = 0;
  for (const std::size_t to : offsets) {
    pieces.emplace_back(text.substr(from, to - from));
    from = to;
  }
  pieces.emplace_back(text.substr(from));
  return pieces;
}

LoopbackServer::LoopbackServer(Handler handler) : handler_(std::move(handler)) {
  int ends[2];
  AGENTD_ASSERT(::pipe(ends) == 0);
  stop_read_ = UniqueFd(ends[0]);
  stop_write_ = UniqueFd(ends[1]);
  listener_ = listen_on_loopback(port_);
  accept_thread_ = std::thread([this] { accept_loop(); });
}

LoopbackServer::LoopbackServer(std::deque<Reply> replies)
    : LoopbackServer(Handler([left = std::move(replies)](const RecordedRequest&) mutable {
        if (left.empty()) return Reply::http(500, {}, "no reply left");
        Reply next = std::move(left.front());
        left.pop_front();
        return next;
      })) {}

LoopbackServer::~LoopbackServer() {
  stop_write_.reset();  // every poll sees the pipe's end
  accept_thread_.join();
  for (std::thread& client : clients_) client.join();
}

UniqueFd listen_on_loopback(std::uint16_t& port) {
  UniqueFd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  AGENTD_ASSERT(::bind(listener.get(), any, size) == 0);
  AGENTD_ASSERT(::listen(listener.get(), 64) == 0);
  AGENTD_ASSERT(::getsockname(listener.get(), any, &size) == 0);
  port = ntohs(address.sin_port);
  return listener;
}

bool LoopbackServer::wait_readable(int client) const {
  pollfd polled[2] = {{client, POLLIN, 0}, {stop_read_.get(), POLLIN, 0}};
  while (::poll(polled, 2, -1) < 0) {
  }
  return polled[1].revents == 0;
}

void LoopbackServer::accept_loop() {
  while (wait_readable(listener_.get())) {
    const int fd = ::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) continue;
    ++connections_;
    set_no_delay(fd);
    clients_.emplace_back([this, fd] { serve(UniqueFd(fd)); });
  }
}

void LoopbackServer::serve(const UniqueFd& client) {
  std::string buffer;
  for (;;) {
    RecordedRequest request;
    if (!read_request(client.get(), buffer, request)) return;
    Reply reply;
    {
      const std::lock_guard lock(mutex_);
      requests_.push_back(request);
      meet_others();
      reply = handler_(request);
      meet_others();
    }
    if (!play(client.get(), reply) || !reply.keep_alive) return;
  }
}

bool LoopbackServer::read_more(int client, std::string& buffer) {
  if (!wait_readable(client)) return false;
  char bytes[16384];
  const ssize_t got = ::recv(client, bytes, sizeof bytes, 0);
  if (got <= 0) return false;
  buffer.append(bytes, static_cast<std::size_t>(got));
  return true;
}

bool LoopbackServer::read_request(int client, std::string& buffer, RecordedRequest& out) {
  std::size_t head_end = 0;
  while ((head_end = buffer.find("\r\n\r\n")) == std::string::npos)
    if (!read_more(client, buffer)) return false;
  parse_head(std::string_view(buffer).substr(0, head_end + 2), out);
  std::size_t length = 0;
  const std::string text = out.header("content-length");
  std::from_chars(text.data(), text.data() + text.size(), length);
  while (buffer.size() < head_end + 4 + length)
    if (!read_more(client, buffer)) return false;
  out.body = buffer.substr(head_end + 4, length);
  buffer.erase(0, head_end + 4 + length);
  return true;
}

// False when the client went away or the server stops.
bool LoopbackServer::send_all(int client, std::string_view bytes) {
  while (!bytes.empty()) {
    pollfd polled[2] = {{client, POLLOUT, 0}, {stop_read_.get(), POLLIN, 0}};
    while (::poll(polled, 2, -1) < 0) {
    }
    if (polled[1].revents != 0) return false;
    const ssize_t sent = ::send(client, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EAGAIN) continue;
    if (sent <= 0) return false;
    bytes_sent_ += static_cast<std::uint64_t>(sent);
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

bool LoopbackServer::play(int client, const Reply& reply) {
  for (const Reply::Step& step : reply.steps) {
    if (step.act == Reply::Act::kStall) {
      std::string ignored;
      while (read_more(client, ignored)) {
      }
      return false;
    }
    if (step.act == Reply::Act::kReset) {
      const linger now{1, 0};
      ::setsockopt(client, SOL_SOCKET, SO_LINGER, &now, sizeof now);
      return false;
    }
    bool open = send_all(client, step.bytes);
    while (open && step.act == Reply::Act::kRepeat) open = send_all(client, step.bytes);
    if (!open) return false;
  }
  return true;
}

std::vector<RecordedRequest> LoopbackServer::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

}  // namespace agentd::testing
