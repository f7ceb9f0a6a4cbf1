// SPDX-License-Identifier: Apache-2.0
#pragma once
// crash_book.h - how often the workers of one plugin have ended, and when there may be a new one.
//
// Threading: thread-safe.

#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>

#include "core/base/clock.h"
#include "core/host/worker/worker_options.h"

namespace agentd {

class CrashBook {
 public:
  // `options` and `clock` outlive it.
  CrashBook(const WorkerOptions& options, const Clock& clock) : options_(options), clock_(clock) {}

  // A worker ended at that time; `cause` is "signal 11". True when the plugin is set aside by it.
  bool note(std::uint64_t at_ns, std::string_view cause);
  // Ends the sentence "PATH ...": "crashed its worker 3 times in 60 s (signal 11)"; empty = not set
  // aside.
  std::string set_aside() const;
  // When the next worker may be started, on the clock.
  std::uint64_t next_start_ns() const;

 private:
  const WorkerOptions& options_;
  const Clock& clock_;
  mutable std::mutex mutex_;
  std::deque<std::uint64_t> ends_;  // within the window; guarded by mutex_
  std::string set_aside_;           // guarded by mutex_
};

}  // namespace agentd
