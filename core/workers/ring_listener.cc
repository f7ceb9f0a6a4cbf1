// SPDX-License-Identifier: Apache-2.0
#include "core/workers/ring_listener.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "core/base/clock.h"
#include "core/base/thread.h"
#include "core/base/thrown.h"

namespace agentd {
namespace {

constexpr Milliseconds kLookTime{250};
constexpr int kWakesForNothingMax = 1'000;  // in a row
constexpr Milliseconds kPause{5};           // after that many

std::uint64_t in_ns(Milliseconds time) { return static_cast<std::uint64_t>(time.count()) * 1'000'000; }

}  // namespace

RingListener::~RingListener() {
  {
    const MutexLock lock(mutex_);
    AGENTD_ASSERT(all_.empty());
    stopping_ = true;
  }
  AnswerRegion::raise(alarm_);
  if (thread_.joinable()) thread_.join();
}

bool RingListener::add(std::shared_ptr<AnswerRegion> region, Ear& ear) {
  {
    const MutexLock lock(mutex_);
    try {
      if (!thread_.joinable()) thread_ = Thread([this] { run(); });
    } catch (const std::system_error&) {
      return false;
    }
    all_.push_back({std::move(region), &ear});
  }
  AnswerRegion::raise(alarm_);
  return true;
}

// The thread may sleep on the removed word until its next look, which does no harm.
void RingListener::remove(const Ear& ear) {
  const MutexLock lock(mutex_);
  std::erase_if(all_, [&](const Listening& each) { return each.ear == &ear; });
}

void RingListener::run() {
  const SystemClock clock;
  std::vector<std::shared_ptr<AnswerRegion>> regions;
  std::uint64_t look_ns = 0;
  int for_nothing = 0;
  MutexLock lock(mutex_);
  while (!stopping_) {
    const std::uint32_t seen = alarm_.load();
    const bool look = clock.monotonic_ns() >= look_ns;
    if (look) look_ns = clock.monotonic_ns() + in_ns(kLookTime);
    bool any = false;
    const bool lost = !thrown_by([&] {
                         mutex_.assert_held();
                         any = tell(look);
                       }).empty();
    for_nothing = any || look ? 0 : for_nothing + 1;
    regions.clear();
    // If the wait failed, a ring is found at the next look, after a pause.
    bool pauses = lost || for_nothing > kWakesForNothingMax;
    if (!pauses)
      pauses = !thrown_by([&] {
                  mutex_.assert_held();
                  for (const Listening& each : all_) regions.push_back(each.region);
                }).empty();
    lock.unlock();
    const std::uint64_t until = pauses ? clock.monotonic_ns() + in_ns(kPause) : look_ns;
    AnswerRegion::wait_rings(regions, alarm_, seen, std::min(until, look_ns));
    regions.clear();
    lock.lock();
  }
}

bool RingListener::tell(bool look) {
  bool any = false;
  std::erase_if(all_, [&](const Listening& each) {
    std::uint32_t lanes = 0;
    const LaneEnd end = each.region->take_rings(lanes);
    const bool rang = end != LaneEnd::kMessage || lanes != 0;
    any = any || rang;
    return (rang && !each.ear->on_rings(end, lanes)) || (look && !each.ear->on_look());
  });
  return any;
}

}  // namespace agentd
