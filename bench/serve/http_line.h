// SPDX-License-Identifier: Apache-2.0
#pragma once
// http_line.h - a connection to the daemon's unix socket: requests one after the other, or one stream of events.
//
// Threading: thread-compatible.

#include <string>
#include <string_view>

#include "core/base/file.h"

namespace agentd::bench {

struct HttpAnswer {
  int status = 0;
  std::string body;
};

class HttpLine {
 public:
  HttpLine(std::string socket, std::string token) : socket_(std::move(socket)), token_(std::move(token)) {}

  // On the connection of the request before, or on a new one where the daemon has closed that.
  HttpAnswer request(std::string_view method, const std::string& path, std::string_view body = {});
  // The same, again while the daemon is busy; the benchmark stops at another status than `status`.
  std::string must(int status, std::string_view method, const std::string& path, std::string_view body = {});
  // Begins a stream of events; the connection has nothing else from then on.
  void stream(const std::string& path);
  // Reads up to an event of that type, and drops it.
  void wait_for(std::string_view type);

 private:
  bool connect();
  bool send(std::string_view method, const std::string& path, std::string_view body);
  bool more();
  HttpAnswer answer();

  const std::string socket_, token_;
  UniqueFd fd_;
  std::string in_;
};

}  // namespace agentd::bench
