// SPDX-License-Identifier: Apache-2.0
#pragma once
// waiting.h - the rule that threads wait through core/base alone: its Mutex, Condition, Thread and Clock.
//
// Threading: pure functions over the files.

#include <filesystem>

#include "tests/tidy/tree.h"

namespace tidy {

// Locks, threads, sleeps and waits for descriptors that are not those of core/base, in core, providers and plugins.
Findings other_waits(const std::filesystem::path& root);

}  // namespace tidy
