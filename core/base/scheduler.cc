// SPDX-License-Identifier: Apache-2.0
#include "core/base/scheduler.h"

#include <time.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <utility>

namespace agentd {
namespace {

constexpr std::uint64_t kMillisecondNs = 1'000'000;

// -1 = for ever. Rounded up: who is woken too early would look in vain.
int milliseconds_until(std::uint64_t until_ns) {
  if (until_ns == UINT64_MAX) return -1;
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  const auto now = static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(time.tv_nsec);
  if (until_ns <= now) return 0;
  return static_cast<int>(std::min<std::uint64_t>((until_ns - now + kMillisecondNs - 1) / kMillisecondNs, INT_MAX));
}

class Machine final : public Scheduler {
 public:
  void wait(const WaitWord& word, std::uint32_t seen, std::uint64_t until_ns) override {
    (void)futex_wait(word, seen, until_ns, FutexScope::kProcess);
  }
  void wake(const WaitWord& word, bool all) override { futex_wake(word, all ? INT_MAX : 1, FutexScope::kProcess); }
  int poll(std::span<pollfd> descriptors, std::uint64_t until_ns) override {
    return ::poll(descriptors.data(), descriptors.size(), milliseconds_until(until_ns));
  }
  std::thread start(std::function<void()> body) override { return std::thread(std::move(body)); }
  void join(std::thread& thread) override { thread.join(); }
};

// Never destroyed: threads that nobody waits for may run longer than every destructor.
Scheduler& machine() {
  static auto* const the = new Machine;
  return *the;
}

constinit thread_local Scheduler* bound = nullptr;

}  // namespace

Scheduler& Scheduler::current() { return bound != nullptr ? *bound : machine(); }

Scheduler::Bound::Bound(Scheduler& scheduler) : before_(std::exchange(bound, &scheduler)) {}
Scheduler::Bound::~Bound() { bound = before_; }

bool is_ready(int descriptor, short events) {
  pollfd look{descriptor, events, 0};
  int ready = 0;
  do {
    ready = ::poll(&look, 1, 0);
  } while (ready < 0 && errno == EINTR);
  return ready == 1;
}

}  // namespace agentd
