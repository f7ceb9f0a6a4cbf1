// SPDX-License-Identifier: Apache-2.0
#pragma once
// crash_book.h - counts how the workers of one plugin ended, and decides when a new one may start.
//
// Threading: thread-safe.

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

#include "core/base/clock.h"
#include "core/base/mutex.h"
#include "core/workers/worker_options.h"

namespace agentd {

// Why a worker ended, as far as it concerns the plugin.
enum class EndKind : std::uint8_t {
  kWanted,    // its host did not need it any more: no fault
  kCutShort,  // ended early by a cancel or a signal from outside: only a reason to pause
  kHang,      // it exceeded the time that it was promised
  kCrash,     // it ended on its own, or wrote malformed messages
};

class CrashBook {
 public:
  // `options` and `clock` outlive it.
  CrashBook(const WorkerOptions& options, const Clock& clock) : options_(options), clock_(clock) {}

  // Records the end of a worker; `cause` is "signal 11". `told`: crashes and hangs within the window that the
  // quarantine counts over all processes, this one included. Returns true when this end quarantines the plugin.
  bool note(std::uint64_t at_ns, EndKind kind, std::string_view cause, std::size_t told = 0);
  // Completes the sentence "PATH ...": "crashed its worker 3 times in 60 s (signal 11)", "hung ..." or "crashed or hung
  // ..."; empty = not quarantined.
  std::string set_aside() const;
  // When the next worker may start, on the monotonic clock.
  std::uint64_t next_start_ns() const;

 private:
  struct End {
    std::uint64_t at_ns;
    EndKind kind;
  };
  std::size_t count(EndKind kind) const REQUIRES(mutex_);

  const WorkerOptions& options_;
  const Clock& clock_;
  mutable Mutex mutex_;
  std::deque<End> ends_ GUARDED_BY(mutex_);  // within the window, without kWanted
  std::string set_aside_ GUARDED_BY(mutex_);
};

}  // namespace agentd
