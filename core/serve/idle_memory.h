// SPDX-License-Identifier: Apache-2.0
#pragma once
// idle_memory.h - memory that the allocator has left of past work goes back to the system.
//
// Threading: thread-compatible; the memory is that of all threads.

#include <cstdint>
#include <functional>
#include <utility>

#include "core/base/clock.h"

namespace agentd::serve {

class IdleMemory {
 public:
  static constexpr Milliseconds kBetween{60'000}, kBetweenUnderLoad{10 * 60'000};
  // `give_back`: what is called for it, instead of the allocator in tests. The clock outlives it.
  explicit IdleMemory(const Clock& clock) : IdleMemory(clock, give_back_all) {}
  IdleMemory(const Clock& clock, std::function<void()> give_back)
      : clock_(clock), give_back_(std::move(give_back)), latest_(Deadline::after(clock, kBetweenUnderLoad)) {}

  // To be called every few seconds. `done`: how much was done since the start; `works`: whether something is done now.
  // Gives back after work, when nothing works, and at most every kBetween; every kBetweenUnderLoad whatever works.
  void look(std::uint64_t done, bool works);

 private:
  static void give_back_all();

  const Clock& clock_;
  const std::function<void()> give_back_;
  std::uint64_t done_ = 0;  // of the last time
  Deadline next_{0}, latest_;
};

}  // namespace agentd::serve
