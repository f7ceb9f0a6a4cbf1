// SPDX-License-Identifier: Apache-2.0
#pragma once
// map_gate.h - open to any number of transactions, or shut by the one who changes the map under them.
//
// No lock in the compiler's sense: a transaction carries its place from object to object.
//
// Threading: thread-safe. One who is inside may enter again: who wants to shut it waits until nobody is.

#include <cstdint>
#include <memory>

#include "core/base/mutex.h"

namespace agentd {

class MapGate {
 public:
  void enter() {
    const MutexLock lock(mutex_);
    while (shut_) changed_.wait(mutex_);
    ++inside_;
  }
  void leave() {
    const MutexLock lock(mutex_);
    if (--inside_ == 0) changed_.notify_all();
  }
  void shut() {
    const MutexLock lock(mutex_);
    while (shut_ || inside_ != 0) changed_.wait(mutex_);
    shut_ = true;
  }
  void open() {
    const MutexLock lock(mutex_);
    shut_ = false;
    changed_.notify_all();
  }

 private:
  Mutex mutex_;
  Condition changed_;
  std::uint32_t inside_ GUARDED_BY(mutex_) = 0;
  bool shut_ GUARDED_BY(mutex_) = false;
};

// A place inside: the map stays as it is.
class MapUse {
 public:
  explicit MapUse(MapGate& gate) : gate_(&gate) { gate.enter(); }
  void end() { gate_.reset(); }

 private:
  struct Leave {
    void operator()(MapGate* gate) const { gate->leave(); }
  };
  std::unique_ptr<MapGate, Leave> gate_;
};

// No other thread is inside.
class MapChange {
 public:
  explicit MapChange(MapGate& gate) : gate_(gate) { gate_.shut(); }
  ~MapChange() { gate_.open(); }
  MapChange(const MapChange&) = delete;
  MapChange& operator=(const MapChange&) = delete;

 private:
  MapGate& gate_;
};

}  // namespace agentd
