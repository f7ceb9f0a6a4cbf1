// SPDX-License-Identifier: Apache-2.0
#pragma once
// ring_listener.h - one thread that receives the rings of plugins' own threads, from all workers.
//
// A worker that wakes it again and again without a ring delays the others by at most 5 ms and burns no CPU: the thread
// then polls at that interval until a real ring arrives.
//
// Threading: thread-safe.

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/base/mutex.h"
#include "core/base/thread.h"
#include "core/isolation/lane.h"

namespace agentd {

class RingListener {
 public:
  // Called on the listener's thread, one at a time; must return quickly.
  class Ear {
   public:
    virtual ~Ear() = default;
    // `end` and `lanes` come from AnswerRegion::take_rings(). Returns false to stop listening.
    virtual bool on_rings(LaneEnd end, std::uint32_t lanes) = 0;
    // Called four times a second. Returns false to stop listening.
    virtual bool on_look() = 0;
  };

  RingListener() = default;
  ~RingListener();  // REQUIRES: every ear was removed
  RingListener(const RingListener&) = delete;
  RingListener& operator=(const RingListener&) = delete;

  // The first call makes the thread. Returns false if no thread can be made. `ear` must outlive remove().
  bool add(std::shared_ptr<AnswerRegion> region, Ear& ear);
  // Stops the calls to `ear`. REQUIRES: not on the listener's thread.
  void remove(const Ear& ear);

 private:
  struct Listening {
    std::shared_ptr<AnswerRegion> region;
    Ear* ear = nullptr;
  };
  void run();
  // Returns true if any ear was rung.
  bool tell(bool look) REQUIRES(mutex_);

  Mutex mutex_;
  std::vector<Listening> all_ GUARDED_BY(mutex_);
  bool stopping_ GUARDED_BY(mutex_) = false;
  std::atomic<std::uint32_t> alarm_{0};  // another number = look again at all of this
  Thread thread_;                        // made under mutex_
};

}  // namespace agentd
