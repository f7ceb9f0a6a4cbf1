// SPDX-License-Identifier: Apache-2.0
#pragma once
// baton.h - a scheduler under which real threads run one at a time, as a seed decides, in a time of its own.
//
// A thread hands the baton on when it waits, wakes, polls, starts, joins or ends, at step(), and sometimes when it
// looks at the time; who goes on is drawn from those that can. Where none can, time jumps to the next deadline. A seed
// replays the same order of switches as long as the program draws nothing from outside.
//
// Threading: run() on one thread; everything else on those that it runs.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include "core/base/clock.h"
#include "core/base/scheduler.h"

namespace agentd::simulator {

class Baton final : public Scheduler {
 public:
  // `stuck` is called when no thread can ever go on; it does not return.
  Baton(std::uint64_t seed, std::function<void(const std::string& why)> stuck);
  ~Baton() override;

  // Calls `body`, and returns when it and all threads that were started in it have ended.
  void run(const std::function<void()>& body);

  // Somebody else may go on here.
  void step();
  // One time in four; never on a thread of another scheduler.
  void step_sometimes();
  std::uint64_t now_ns() const { return now_ns_; }
  // A number below `limit`; drawn from the seed.
  std::uint64_t draw(std::uint64_t limit);
  // How often the baton was handed on, and a digest of the order.
  std::uint64_t switches() const { return switches_; }
  std::uint64_t digest() const { return digest_; }

  void wait(const WaitWord& word, std::uint32_t seen, std::uint64_t until_ns) override;
  void wake(const WaitWord& word, bool all) override;
  int poll(std::span<pollfd> descriptors, std::uint64_t until_ns) override;
  std::thread start(std::function<void()> body) override;
  void join(std::thread& thread) override;

 private:
  using Lock = std::unique_lock<std::mutex>;
  struct Runner;
  Runner& add();
  Runner* next();
  bool can_go_on(const Runner& runner) const;
  void hand_on(Lock& lock, Runner& from);
  void end(Runner& runner);
  std::uint64_t draw_locked(std::uint64_t limit) { return limit == 0 ? 0 : random_() % limit; }

  std::mutex mutex_;
  const std::function<void(const std::string&)> stuck_;
  std::mt19937_64 random_;
  std::vector<std::unique_ptr<Runner>> runners_;
  Runner* holder_ = nullptr;
  std::atomic<std::uint64_t> now_ns_ = 1'000'000'000;
  std::uint64_t switches_ = 0, digest_ = 0;
};

// The time of a baton; wall time begins in 2027.
class SimulatedClock final : public Clock {
 public:
  explicit SimulatedClock(Baton& baton) : baton_(baton) {}
  std::uint64_t monotonic_ns() const override {
    baton_.step_sometimes();
    return baton_.now_ns();
  }
  std::int64_t wall_ms() const override {
    return 1'800'000'000'000 + static_cast<std::int64_t>(baton_.now_ns() / 1'000'000);
  }
  int poll(std::span<pollfd> descriptors, Deadline deadline) const override {
    return Scheduler::current().poll(descriptors, deadline.at_ns);
  }
  bool wait(const WaitWord& word, std::uint32_t seen, Deadline deadline) const override {
    Scheduler::current().wait(word, seen, deadline.at_ns);
    return word.load(std::memory_order_relaxed) != seen || !deadline.passed(*this);
  }

 private:
  Baton& baton_;
};

}  // namespace agentd::simulator
