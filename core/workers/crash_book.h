// SPDX-License-Identifier: Apache-2.0
#pragma once
// crash_book.h - how often the workers of one plugin have ended, why, and when there may be a new
// one.
//
// Threading: thread-safe.

#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>

#include "core/base/clock.h"
#include "core/workers/worker_options.h"

namespace agentd {

// Why a worker ended, as far as it says something of the plugin.
enum class EndKind : std::uint8_t {
  kWanted,    // its host had no more use for it: no fault
  kCutShort,  // somebody else's impatience ended it: a reason for a pause, and no more
  kHang,      // it had all the time that it was promised
  kCrash,     // it ended by itself, or wrote garbage
};

class CrashBook {
 public:
  // `options` and `clock` outlive it.
  CrashBook(const WorkerOptions& options, const Clock& clock) : options_(options), clock_(clock) {}

  // A worker ended at that time; `cause` is "signal 11". `told`: how many crashes and hangs others
  // know of within the window, this one included. True when the plugin is set aside by it.
  bool note(std::uint64_t at_ns, EndKind kind, std::string_view cause, std::size_t told = 0);
  // Ends the sentence "PATH ...": "crashed its worker 3 times in 60 s (signal 11)", or "hung ...",
  // or "crashed or hung ..."; empty = not set aside.
  std::string set_aside() const;
  // When the next worker may be started, on the clock.
  std::uint64_t next_start_ns() const;

 private:
  struct End {
    std::uint64_t at_ns;
    EndKind kind;
  };
  std::size_t count(EndKind kind) const;

  const WorkerOptions& options_;
  const Clock& clock_;
  mutable std::mutex mutex_;
  std::deque<End> ends_;   // within the window, none wanted; guarded by mutex_
  std::string set_aside_;  // guarded by mutex_
};

}  // namespace agentd
