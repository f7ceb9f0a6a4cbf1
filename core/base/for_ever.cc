// SPDX-License-Identifier: Apache-2.0
#include "core/base/for_ever.h"

#include <mutex>
#include <utility>
#include <vector>

namespace agentd {
namespace {

struct Kept {
  std::mutex mutex;
  std::vector<std::shared_ptr<const void>> what;  // guarded by mutex
};

// Never destroyed: its readers may run longer than every destructor.
Kept& kept() {
  static auto* const all = new Kept;
  return *all;
}

}  // namespace

void keep_for_ever(std::shared_ptr<const void> what) {
  if (!what) return;
  const std::lock_guard lock(kept().mutex);
  kept().what.push_back(std::move(what));
}

}  // namespace agentd
