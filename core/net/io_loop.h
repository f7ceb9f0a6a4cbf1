// SPDX-License-Identifier: Apache-2.0
#pragma once
// io_loop.h - the thread that moves the bytes of all transfers, on one libcurl multi handle.
//
// libcurl names the sockets that it waits for, and epoll reports the ready ones, so that a wake-up costs only what
// happened. Each transfer has a connection to itself; idle ones are reused by the next transfer.
//
// Threading: start() and attend() are thread-safe.

#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/base/mutex.h"
#include "core/base/thread.h"
#include "core/net/transfer.h"

namespace agentd {

class IoLoop {
 public:
  IoLoop() = default;
  ~IoLoop() { stop(); }
  IoLoop(const IoLoop&) = delete;
  IoLoop& operator=(const IoLoop&) = delete;

  // Starts the thread unless it runs; the thread first loads libcurl. kUnavailable when no descriptor is left.
  Result<void> start();
  // Ends all transfers with kCancelled, and the thread, which is not started again.
  void stop();
  // The same without waiting for the thread.
  void end_soon();
  // Begins the transfer, or checks it again. REQUIRES: start() succeeded.
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
  void wait_and_move(Deadline deadline);
  void take_ended();
  void check_times();
  Deadline next_look() const;
  static int socket_callback(CURL* easy, curl_socket_t socket, int what, void* self, void* unused);
  static int timer_callback(CURLM* multi, long ms, void* self);

  Mutex mutex_;
  std::vector<std::shared_ptr<Transfer>> knocks_ GUARDED_BY(mutex_);
  bool stops_ GUARDED_BY(mutex_) = false;
  bool closed_ GUARDED_BY(mutex_) = false;  // the thread checks no further transfers
  Thread thread_ GUARDED_BY(mutex_);
  UniqueFd epoll_, bell_;  // set under mutex_ before the thread starts

  // Used by the thread only.
  const SystemClock pace_{};  // for checks and libcurl's timer, whatever clock the requests have
  std::unique_ptr<const CurlLibrary> curl_;
  CURLM* multi_ = nullptr;
  CURLSH* share_ = nullptr;
  std::unordered_map<CURL*, std::shared_ptr<Transfer>> active_;
  std::uint64_t timer_ns_ = Deadline::kNever;  // when libcurl must be called
  std::uint64_t looked_ns_ = 0;                // when the times were last checked
};

}  // namespace agentd
