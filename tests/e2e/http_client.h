// SPDX-License-Identifier: Apache-2.0
#pragma once
// http_client.h - a plain HTTP/1.1 client of the daemon, as a test needs it: one connection for each request.
//
// Threading: thread-compatible.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/file.h"
#include "core/codec/json.h"

namespace agentd::testing {

struct HttpAnswer {
  int status = 0;  // 0 = none came
  std::string head, body;
  JsonDocument json() const;  // the test fails where the body is none
};

// Answers that go on: the events of a conversation.
class EventReader {
 public:
  explicit EventReader(UniqueFd connection) : connection_(std::move(connection)) {}
  struct Event {
    std::string id, type;
    std::string data;
  };
  // The next event; nullopt when the stream has ended, or nothing has come in time.
  std::optional<Event> next(int patience_ms = 30'000);
  // Reads up to an event of that type, which it returns; all of them are kept in `seen`.
  std::optional<Event> until(const std::string& type);
  std::vector<Event> seen;

 private:
  bool read_more(int patience_ms);
  UniqueFd connection_;
  std::string raw_, text_;  // of the connection; of the body, without chunks
  bool head_done_ = false;
};

class HttpClient {
 public:
  HttpClient(std::uint16_t port, std::string token) : port_(port), token_(std::move(token)) {}
  HttpAnswer get(const std::string& path) const { return request("GET", path); }
  HttpAnswer post(const std::string& path, const std::string& json) const { return request("POST", path, json); }
  // `fields`: further lines of the head, each with its line end; `type`: of the body.
  HttpAnswer request(const std::string& method, const std::string& path, const std::string& body = {},
                     const std::string& fields = {}, const std::string& type = "application/json") const;
  EventReader events(const std::string& path, const std::string& last_id = {}) const;
  // A connection on which a request has begun: its head with the fields, and what there is of its body.
  UniqueFd begin(const std::string& method, const std::string& path, const std::string& fields,
                 const std::string& body = {}) const;
  // A connection on which nothing was sent.
  UniqueFd connect() const;
  // The same with another token; empty = none.
  HttpClient as(std::string token) const { return {port_, std::move(token)}; }

 private:
  std::string head(const std::string& method, const std::string& path, const std::string& fields) const;
  std::uint16_t port_;
  std::string token_;
};

}  // namespace agentd::testing
