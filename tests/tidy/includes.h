// SPDX-License-Identifier: Apache-2.0
#pragma once
// includes.h - what files include: no circles among them, and few lines at the median.
//
// Threading: pure functions over the files.

#include <cstddef>
#include <filesystem>

#include "tests/tidy/tree.h"

namespace tidy {

// Files that reach themselves through what they include, where x.h and x.cc are one: one finding for each group,
// "core/a/x: includes itself through core/a/y core/a/z", in order.
Findings file_cycles(const std::filesystem::path& root);
// Lines of include per file at the median, of core, plugins and providers.
std::size_t includes_at_median(const std::filesystem::path& root, Wanted wanted);

}  // namespace tidy
