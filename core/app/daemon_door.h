// SPDX-License-Identifier: Apache-2.0
#pragma once
// daemon_door.h - the connection of a command to `agentd serve` of the same home: requests, and a stream of events.
//
// Threading: one thread; a stream has a thread of its own that reads.

#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "core/app/app.h"
#include "core/base/mutex.h"
#include "core/base/thread.h"
#include "core/net/http.h"

namespace agentd::app {

struct DaemonReply {
  int status = 0;
  std::string body;
  // The code and the message of an error.
  std::string code() const, message() const;
};

class DaemonStream;

class DaemonDoor {
 public:
  // The daemon that listens on agentd.sock of the home. Null: none does, or the socket or the token is not this user's.
  static std::unique_ptr<DaemonDoor> find(const App& app);

  static constexpr Milliseconds kAnswerTime{10'000};  // for the head of an answer

  const std::string& token() const { return token_; }
  // kUnavailable: no answer in kAnswerTime, or the daemon has ended.
  Result<DaemonReply> get(const std::string& path) const;
  Result<DaemonReply> post(const std::string& path, std::string_view json) const;
  // A stream of server-sent events, whose head has come; an answer of another status is the error's message, as JSON.
  Result<std::unique_ptr<DaemonStream>, DaemonReply> stream(const std::string& method, const std::string& path,
                                                            const std::string& json) const;

 private:
  DaemonDoor(const Clock& clock, std::string socket, std::string token);
  HttpRequest request(const std::string& method, const std::string& path) const;
  Result<DaemonReply> send(const std::string& method, const std::string& path, std::string_view json) const;

  const Clock& clock_;
  const std::string socket_, token_;
  const std::shared_ptr<HttpClient> http_;  // shared with the threads of streams
};

class DaemonStream {
 public:
  struct Frame {
    std::string type, data, id;
  };
  DaemonStream(const Clock& clock, std::shared_ptr<HttpClient> http, HttpRequest request, std::string body);
  // Leaves it.
  ~DaemonStream();
  DaemonStream(const DaemonStream&) = delete;
  DaemonStream& operator=(const DaemonStream&) = delete;

  // Waits for the head of the answer; status 0: none came.
  DaemonReply head(Deadline deadline);
  // The next frame; nullopt: none came in that time, or the stream has ended.
  std::optional<Frame> next(Milliseconds time);
  bool has_ended() const;  // and all of it was taken
  // True if a frame of that type has come and was not taken, or none will come.
  bool brings(std::string_view type) const;

 private:
  void read();

  const Clock& clock_;
  const std::shared_ptr<HttpClient> http_;
  HttpRequest request_;
  const std::string body_;
  const CancelToken leave_;
  mutable Mutex mutex_;
  Condition changed_;
  std::deque<Frame> frames_ GUARDED_BY(mutex_);
  DaemonReply head_ GUARDED_BY(mutex_);
  bool ended_ GUARDED_BY(mutex_) = false;
  Thread thread_;  // last: uses the others
};

}  // namespace agentd::app
