// SPDX-License-Identifier: Apache-2.0
#pragma once
// store_look.h - checks a store that was not closed cleanly, in a process that may crash.
//
// Threading: any thread that may fork.

#include <functional>

#include "core/base/clock.h"
#include "core/base/result.h"

namespace agentd {

// For LmdbOptions::apart. kCorrupt: the check found damage, or was killed by a signal. kUnavailable: it timed out.
Result<void> look_apart(const std::function<Result<void>()>& look, const Clock& clock);

}  // namespace agentd
