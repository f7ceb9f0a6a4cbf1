// SPDX-License-Identifier: Apache-2.0
#pragma once
// store_look.h - the first look at a store that was not closed well, made by a process that may die
// of it.
//
// Threading: any thread that may fork.

#include <functional>

#include "core/base/clock.h"
#include "core/base/result.h"

namespace agentd {

// For LmdbOptions::apart. kCorrupt: the look found damage, or ended by a signal. kUnavailable: it
// did not end.
Result<void> look_apart(const std::function<Result<void>()>& look, const Clock& clock);

}  // namespace agentd
