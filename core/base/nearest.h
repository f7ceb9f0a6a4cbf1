// SPDX-License-Identifier: Apache-2.0
#pragma once
// nearest.h - finds the name that was probably meant.
//
// Threading: pure functions.

#include <string>
#include <string_view>
#include <vector>

namespace agentd {

// Counts insertions, deletions, replacements and swaps of neighbours (optimal string alignment).
std::size_t edit_distance(std::string_view a, std::string_view b);

// The nearest of `names` that is close enough to be a typing error: at most a third of its letters differ, or it begins
// with `word`. Empty otherwise.
std::string nearest(std::string_view word, const std::vector<std::string>& names);

// ": did you mean 'x'?", or empty.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& names);

}  // namespace agentd
