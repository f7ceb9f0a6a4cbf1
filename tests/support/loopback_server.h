// SPDX-License-Identifier: Apache-2.0
#pragma once
// loopback_server.h - an HTTP/1.1 server on 127.0.0.1 that plays byte streams, for tests.
//
// It answers with exactly the bytes that a Reply holds: also with those that no real server would send.
//
// Threading: thread-safe; the handler is called on the connections' threads, one call at a time.

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/file.h"

namespace agentd::testing {

using Headers = std::vector<std::pair<std::string, std::string>>;

struct RecordedRequest {
  std::string method, target, body;
  Headers headers;  // names in lower case
  std::string header(std::string_view lower_case_name) const;
};

// What goes to the client, step by step.
struct Reply {
  enum class Act { kSend, kStall, kReset, kRepeat };
  struct Step {
    Act act = Act::kSend;
    std::string bytes;
  };
  std::vector<Step> steps;
  bool keep_alive = false;  // read another request from this connection afterwards

  Reply& send(std::string bytes);
  // Waits until the client goes away or the server stops.
  Reply& stall();
  // Sends these bytes again and again until the client goes away.
  Reply& repeat(std::string bytes);
  // Ends the connection with a TCP reset.
  Reply& reset();

  // A whole answer with its length.
  static Reply http(int status, const Headers& headers, std::string_view body);
  // 200 text/event-stream that ends with the connection; each piece is one write.
  static Reply stream(const std::vector<std::string>& pieces);
  static Reply stream(std::string_view body) { return stream(std::vector{std::string(body)}); }
  // 200 text/event-stream in chunks, one per piece; without its last chunk when `whole` is false.
  static Reply chunked(const std::vector<std::string>& pieces, bool whole = true);
};

// The text cut at these offsets.
std::vector<std::string> cut_at(std::string_view text, const std::vector<std::size_t>& offsets);

// A socket that listens on 127.0.0.1, and its port.
UniqueFd listen_on_loopback(std::uint16_t& port);

class LoopbackServer {
 public:
  using Handler = std::function<Reply(const RecordedRequest&)>;

  explicit LoopbackServer(Handler handler);
  // Plays these replies in order, then answers 500.
  explicit LoopbackServer(std::deque<Reply> replies);
  ~LoopbackServer();
  LoopbackServer(const LoopbackServer&) = delete;
  LoopbackServer& operator=(const LoopbackServer&) = delete;

  std::uint16_t port() const { return port_; }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  std::vector<RecordedRequest> requests() const;
  std::size_t connections() const { return connections_.load(); }
  // Of answers, as far as the client's side has made room for them.
  std::uint64_t bytes_sent() const { return bytes_sent_.load(); }

 private:
  void accept_loop();
  void serve(const UniqueFd& client);
  bool read_request(int client, std::string& buffer, RecordedRequest& out);
  bool read_more(int client, std::string& buffer);
  bool play(int client, const Reply& reply);
  bool send_all(int client, std::string_view bytes);
  // False when the server stops.
  bool wait_readable(int client) const;

  Handler handler_;
  UniqueFd listener_, stop_read_, stop_write_;
  std::uint16_t port_ = 0;
  std::atomic<std::size_t> connections_{0};
  std::atomic<std::uint64_t> bytes_sent_{0};
  mutable std::mutex mutex_;
  std::vector<RecordedRequest> requests_;  // guarded by mutex_
  std::vector<std::thread> clients_;       // of the accept thread, until it ended
  std::thread accept_thread_;
};

}  // namespace agentd::testing
