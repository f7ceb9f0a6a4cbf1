// SPDX-License-Identifier: Apache-2.0
#pragma once
// ring_listener.h - the one thread that hears what the plugins' own threads ring for, in all workers.
//
// A worker that makes it wake for nothing, again and again, costs the others 5 ms at most and nobody a processor:
// it looks so often then, until something has rung.
//
// Threading: thread-safe.

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "core/isolation/lane.h"

namespace agentd {

class RingListener {
 public:
  // Told on the listener's thread, one at a time; must return soon.
  class Ear {
   public:
    virtual ~Ear() = default;
    // `end` and `lanes`: of AnswerRegion::take_rings(), when somebody has rung. False = listen no more.
    virtual bool on_rings(LaneEnd end, std::uint32_t lanes) = 0;
    // Four times a second. False = listen no more.
    virtual bool on_look() = 0;
  };

  RingListener() = default;
  ~RingListener();  // REQUIRES: every ear was removed
  RingListener(const RingListener&) = delete;
  RingListener& operator=(const RingListener&) = delete;

  // The thread is made for the first one. False: there are no more threads. `ear` outlives remove().
  bool add(std::shared_ptr<AnswerRegion> region, Ear& ear);
  // It is told nothing any more. REQUIRES: not on the listener's thread.
  void remove(const Ear& ear);

 private:
  struct Listening {
    std::shared_ptr<AnswerRegion> region;
    Ear* ear = nullptr;
  };
  void run();
  // True when somebody has rung.
  bool tell(bool look);

  std::mutex mutex_;
  std::vector<Listening> all_;           // guarded by mutex_
  bool stopping_ = false;                // guarded by mutex_
  std::atomic<std::uint32_t> alarm_{0};  // another number = look again at all of this
  std::thread thread_;                   // made under mutex_
};

}  // namespace agentd
