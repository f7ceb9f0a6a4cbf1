// SPDX-License-Identifier: Apache-2.0
#include "tests/e2e/http_client.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>

#include "core/base/clock.h"

namespace agentd::testing {
namespace {

constexpr int kPatienceMs = 30'000;

// Appends what comes; false at the end, or without a byte in time.
bool read_some(int fd, std::string& into, int patience_ms = kPatienceMs) {
  pollfd ready{fd, POLLIN, 0};
  char buffer[16'384];
  if (::poll(&ready, 1, patience_ms) != 1) return false;
  const ssize_t got = ::read(fd, buffer, sizeof buffer);
  if (got > 0) into.append(buffer, static_cast<std::size_t>(got));
  return got > 0;
}

// Moves complete chunks from one to the other.
void take_chunks(std::string& raw, std::string& text) {
  for (;;) {
    const std::size_t line = raw.find("\r\n");
    if (line == std::string::npos) return;
    const std::size_t size = std::strtoul(raw.c_str(), nullptr, 16);
    if (raw.size() < line + 2 + size + 2) return;
    text.append(raw, line + 2, size);
    raw.erase(0, line + 2 + size + 2);
    if (size == 0) return;
  }
}

}  // namespace

JsonDocument HttpAnswer::json() const {
  auto parsed = JsonDocument::parse(body);
  EXPECT_TRUE(parsed) << status << ": " << body;
  return parsed ? std::move(*parsed) : std::move(*JsonDocument::parse("{}"));
}

UniqueFd HttpClient::connect() const {
  UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port_);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) fd.reset();
  return fd;
}

std::string HttpClient::head(const std::string& method, const std::string& path, const std::string& fields) const {
  std::string out = method + " " + path + " HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(port_) + "\r\n";
  if (!token_.empty()) out += "Authorization: Bearer " + token_ + "\r\n";
  return out + fields;
}

HttpAnswer HttpClient::request(const std::string& method, const std::string& path, const std::string& body,
                               const std::string& fields, const std::string& type) const {
  HttpAnswer out;
  const UniqueFd fd = connect();
  if (!fd.valid()) return out;
  std::string sent = head(method, path, fields) + "Connection: close\r\n";
  if (!body.empty()) sent += "Content-Type: " + type + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n";
  if (!write_all(fd.get(), sent + "\r\n" + body)) return out;
  std::string all;
  const SystemClock clock;
  const Deadline deadline = Deadline::after(clock, Milliseconds(2 * kPatienceMs));  // an answer that goes on is none
  while (!deadline.passed(clock) && read_some(fd.get(), all)) continue;
  const std::size_t end = all.find("\r\n\r\n");
  if (end == std::string::npos || all.size() < 12) return out;
  out.head = all.substr(0, end + 2);
  out.body = all.substr(end + 4);
  if (out.head.find("Transfer-Encoding: chunked") != std::string::npos) {
    std::string raw = std::exchange(out.body, {});
    take_chunks(raw, out.body);
  }
  out.status = std::atoi(all.c_str() + 9);
  return out;
}

EventReader HttpClient::events(const std::string& path, const std::string& last_id) const {
  UniqueFd fd = connect();
  std::string fields = "Accept: text/event-stream\r\n";
  if (!last_id.empty()) fields += "Last-Event-ID: " + last_id + "\r\n";
  if (fd.valid()) (void)write_all(fd.get(), head("GET", path, fields) + "\r\n");
  return EventReader(std::move(fd));
}

UniqueFd HttpClient::begin(const std::string& method, const std::string& path, const std::string& fields,
                           const std::string& body) const {
  UniqueFd fd = connect();
  if (fd.valid()) (void)write_all(fd.get(), head(method, path, fields) + "\r\n" + body);
  return fd;
}

bool EventReader::read_more(int patience_ms) {
  if (!connection_.valid() || !read_some(connection_.get(), raw_, patience_ms)) return false;
  if (!head_done_) {
    const std::size_t end = raw_.find("\r\n\r\n");
    if (end == std::string::npos) return true;
    head_done_ = true;
    raw_.erase(0, end + 4);
  }
  take_chunks(raw_, text_);
  return true;
}

std::optional<EventReader::Event> EventReader::next(int patience_ms) {
  const SystemClock clock;
  const Deadline deadline = Deadline::after(clock, Milliseconds(patience_ms));
  for (;;) {
    const std::size_t end = text_.find("\n\n");
    if (end == std::string::npos) {
      // Comments, which come every few seconds, renew no patience.
      if (!read_more(static_cast<int>(deadline.left(clock).count()))) return std::nullopt;
      continue;
    }
    Event out;
    for (std::size_t from = 0; from < end;) {
      const std::size_t line_end = std::min(text_.find('\n', from), end);
      const std::string line = text_.substr(from, line_end - from);
      if (line.starts_with("id: ")) out.id = line.substr(4);
      if (line.starts_with("event: ")) out.type = line.substr(7);
      if (line.starts_with("data: ")) out.data = line.substr(6);
      from = line_end + 1;
    }
    text_.erase(0, end + 2);
    if (out.type.empty()) continue;  // a comment
    seen.push_back(out);
    return out;
  }
}

std::optional<EventReader::Event> EventReader::until(const std::string& type) {
  while (auto event = next())
    if (event->type == type) return event;
  return std::nullopt;
}

}  // namespace agentd::testing
