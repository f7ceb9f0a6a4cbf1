// SPDX-License-Identifier: Apache-2.0
#include "core/base/linker.h"

#include <cstdint>

#include "core/base/mutex.h"

namespace agentd {
namespace {

struct Turns {
  Mutex mutex;
  Condition ended;
  std::uint64_t asked GUARDED_BY(mutex) = 0, over GUARDED_BY(mutex) = 0;
};

Turns& turns() {
  static Turns all;
  return all;
}

}  // namespace

LinkerTurn::LinkerTurn() {
  Turns& all = turns();
  const MutexLock lock(all.mutex);
  const std::uint64_t own = all.asked++;
  while (all.over != own) all.ended.wait(all.mutex);
}

LinkerTurn::~LinkerTurn() {
  Turns& all = turns();
  const MutexLock lock(all.mutex);
  ++all.over;
  all.ended.notify_all();
}

}  // namespace agentd
