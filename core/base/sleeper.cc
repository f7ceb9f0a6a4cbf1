// SPDX-License-Identifier: Apache-2.0
#include "core/base/sleeper.h"

#include <algorithm>
#include <thread>

namespace agentd {
namespace {

constexpr Milliseconds kSlice{50};  // the longest delay of a cancellation

class ClockSleeper final : public Sleeper {
 public:
  explicit ClockSleeper(const Clock& clock) : clock_(clock) {}
  bool sleep(Milliseconds time, const CancelToken& cancel) override {
    const Deadline end = Deadline::after(clock_, time);
    while (!cancel.cancelled()) {
      const Milliseconds left = end.left(clock_);
      if (left.count() == 0) return true;
      std::this_thread::sleep_for(std::min(left, kSlice));
    }
    return false;
  }

 private:
  const Clock& clock_;
};

}  // namespace

std::unique_ptr<Sleeper> make_sleeper(const Clock& clock) { return std::make_unique<ClockSleeper>(clock); }

}  // namespace agentd
