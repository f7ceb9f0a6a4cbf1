// SPDX-License-Identifier: Apache-2.0
#pragma once
// sleeper.h - waiting that somebody can end; tests and the simulator have their own.
//
// Threading: thread-safe.

#include <memory>

#include "core/base/cancel.h"
#include "core/base/clock.h"

namespace agentd {

class Sleeper {
 public:
  virtual ~Sleeper() = default;
  // False when `cancel` was set before the time was over.
  virtual bool sleep(Milliseconds time, const CancelToken& cancel) = 0;
};
// `clock` outlives it.
std::unique_ptr<Sleeper> make_sleeper(const Clock& clock);

}  // namespace agentd
