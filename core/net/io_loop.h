// SPDX-License-Identifier: Apache-2.0
#pragma once
// io_loop.h - the thread that moves the bytes of all transfers, on one libcurl multi handle.
//
// libcurl says which sockets it waits for, epoll which of them are ready: a wake-up costs what happened
// and not what could have. Each transfer has a connection for itself; those that are free serve whoever
// asks next.
//
// Threading: start() and attend() are thread-safe.

#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_map>
#include <vector>

#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/net/transfer.h"

namespace agentd {

class IoLoop {
 public:
  IoLoop() = default;
  ~IoLoop() { stop(); }
  IoLoop(const IoLoop&) = delete;
  IoLoop& operator=(const IoLoop&) = delete;

  // Starts the thread unless it runs; the first thing that it does is to load libcurl. kUnavailable when
  // there is no descriptor left.
  Result<void> start();
  // Ends what runs, with kCancelled, and the thread, which is not started again.
  void stop();
  // Begins the transfer, or looks at it again. REQUIRES: start() was well.
  void attend(std::shared_ptr<Transfer> transfer);

 private:
  void run();
  Result<void> open();
  void close();
  std::optional<std::vector<std::shared_ptr<Transfer>>> knocks();
  void give_up(const std::vector<std::shared_ptr<Transfer>>& looked_at, const std::string& why);
  void look_at(const std::shared_ptr<Transfer>& transfer);
  void begin(const std::shared_ptr<Transfer>& transfer);
  void end(CURL* easy, Result<void> outcome);
  void wait_and_move(int at_most_ms);
  void take_ended();
  void check_times();
  int wait_ms() const;
  static int socket_callback(CURL* easy, curl_socket_t socket, int what, void* self, void* unused);
  static int timer_callback(CURLM* multi, long ms, void* self);

  std::mutex mutex_;
  std::vector<std::shared_ptr<Transfer>> knocks_;  // guarded by mutex_
  bool stops_ = false;                             // guarded by mutex_
  bool closed_ = false;                            // the thread looks at nothing any more; guarded by mutex_
  std::thread thread_;                             // guarded by mutex_
  UniqueFd epoll_, bell_;                          // set under mutex_ before the thread starts

  // The thread's own.
  const SystemClock pace_{};  // of looks and of libcurl's timer, whatever clock the requests have
  std::unique_ptr<const CurlLibrary> curl_;
  CURLM* multi_ = nullptr;
  CURLSH* share_ = nullptr;
  std::unordered_map<CURL*, std::shared_ptr<Transfer>> active_;
  std::uint64_t timer_ns_ = Deadline::kNever;  // when libcurl wants to be called
  std::uint64_t looked_ns_ = 0;                // when the times were checked last
};

}  // namespace agentd
