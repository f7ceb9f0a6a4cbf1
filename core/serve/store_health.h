// SPDX-License-Identifier: Apache-2.0
#pragma once
// store_health.h - whether the store can be read and written, for /readyz: what its disk says, and whether a write has
// failed since.
//
// Threading: thread-safe.

#include <cstdint>
#include <string>

#include "core/base/mutex.h"
#include "core/store/store.h"

namespace agentd::serve {

// Free bytes of the home's file system below which people are told.
inline constexpr std::uint64_t kFreeBytesMin = 64u << 20;

class StoreHealth {
 public:
  // All outlive it.
  StoreHealth(Store& store, std::string home) : store_(store), home_(std::move(home)) {}

  struct Report {
    bool works = true;         // false: it cannot be read, or a write fails
    std::string store = "ok";  // else why it does not work
    std::string disk = "ok";   // else how little is free
  };
  // `failures`: the writes of sessions that have failed since the start. After one more than before, the store counts
  // as broken until the disk has room and a write of its own succeeds.
  Report look(std::uint64_t failures);

 private:
  std::string disk_complaint() const;
  std::string try_write();

  Store& store_;
  const std::string home_;
  Mutex mutex_;
  std::uint64_t forgiven_ GUARDED_BY(mutex_) = 0;  // failures before the last write that succeeded
};

}  // namespace agentd::serve
