// SPDX-License-Identifier: Apache-2.0
#include "bench/serve/http_line.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "bench/place.h"
#include "core/base/clock.h"

namespace agentd::bench {

bool HttpLine::connect() {
  in_.clear();
  fd_ = UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un to{};
  to.sun_family = AF_UNIX;
  if (socket_.size() >= sizeof to.sun_path) stop("the path of the socket is too long: " + socket_);
  std::memcpy(to.sun_path, socket_.c_str(), socket_.size() + 1);
  if (::connect(fd_.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0) return true;
  fd_.reset();
  return false;
}

bool HttpLine::send(std::string_view method, const std::string& path, std::string_view body) {
  std::string bytes =
      std::string(method) + " " + path + " HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + token_ + "\r\n";
  if (!body.empty())
    bytes += "Content-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) + "\r\n";
  bytes.append("\r\n").append(body);
  for (std::size_t at = 0; at < bytes.size();) {
    const ssize_t sent = ::send(fd_.get(), bytes.data() + at, bytes.size() - at, MSG_NOSIGNAL);
    if (sent <= 0) return false;
    at += static_cast<std::size_t>(sent);
  }
  return true;
}

bool HttpLine::more() {
  char buffer[16'384];
  const ssize_t got = ::read(fd_.get(), buffer, sizeof buffer);
  if (got > 0) in_.append(buffer, static_cast<std::size_t>(got));
  return got > 0;
}

HttpAnswer HttpLine::answer() {
  HttpAnswer out;
  std::size_t end = 0;
  while ((end = in_.find("\r\n\r\n")) == std::string::npos)
    if (!more()) return out;
  constexpr std::string_view kLength = "Content-Length: ";
  const std::size_t length = in_.find(kLength);
  const std::size_t bytes =
      length < end ? std::strtoul(in_.c_str() + length + kLength.size(), nullptr, 10) : std::size_t{0};
  while (in_.size() < end + 4 + bytes)
    if (!more()) return out;
  out.status = std::atoi(in_.c_str() + 9);
  out.body = in_.substr(end + 4, bytes);
  const bool closes = in_.find("Connection: close") < end;
  in_.erase(0, end + 4 + bytes);
  if (closes) fd_.reset();
  return out;
}

HttpAnswer HttpLine::request(std::string_view method, const std::string& path, std::string_view body) {
  // The daemon may have closed an idle connection to make room.
  for (int i = 0; i < 3; ++i) {
    if (!fd_.valid() && !connect()) continue;
    if (send(method, path, body))
      if (HttpAnswer out = answer(); out.status != 0) return out;
    fd_.reset();
  }
  return {};
}

std::string HttpLine::must(int status, std::string_view method, const std::string& path, std::string_view body) {
  const SystemClock clock;
  for (;;) {
    HttpAnswer got = request(method, path, body);
    if (got.status == status) return std::move(got.body);
    if (got.status != 503) stop(std::string(method) + " " + path + ": " + std::to_string(got.status) + " " + got.body);
    clock.pause(Milliseconds(50));
  }
}

void HttpLine::stream(const std::string& path) {
  if (!connect() || !send("GET", path, {})) stop("no stream of " + path);
  while (in_.find(": listening") == std::string::npos)
    if (!more()) stop("no stream of " + path + ": " + in_);
  in_.clear();
}

void HttpLine::wait_for(std::string_view type) {
  const std::string line = "\nevent: " + std::string(type) + "\n";
  std::size_t from = 0, at = 0;
  while ((at = in_.find(line, from)) == std::string::npos) {
    from = in_.size() < line.size() ? 0 : in_.size() - line.size();
    if (!more()) stop("a stream has ended: " + in_.substr(0, 400));
  }
  in_.erase(0, at + line.size());
}

}  // namespace agentd::bench
