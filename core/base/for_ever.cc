// SPDX-License-Identifier: Apache-2.0
#include "core/base/for_ever.h"

#include <utility>
#include <vector>

#include "core/base/mutex.h"

namespace agentd {
namespace {

struct Kept {
  Mutex mutex;
  std::vector<std::shared_ptr<const void>> what GUARDED_BY(mutex);
};

// Never destroyed: its readers may run longer than every destructor.
Kept& kept() {
  static auto* const all = new Kept;
  return *all;
}

}  // namespace

void keep_for_ever(std::shared_ptr<const void> what) {
  if (!what) return;
  Kept& all = kept();
  const MutexLock lock(all.mutex);
  all.what.push_back(std::move(what));
}

}  // namespace agentd
