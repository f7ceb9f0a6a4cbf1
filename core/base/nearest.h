// SPDX-License-Identifier: Apache-2.0
#pragma once
// nearest.h - the name that somebody probably meant.
//
// Threading: pure functions.

#include <string>
#include <string_view>
#include <vector>

namespace agentd {

// Insertions, deletions, replacements and swaps of neighbours (optimal string alignment).
std::size_t edit_distance(std::string_view a, std::string_view b);

// The nearest of `names`, if it is near enough to be a slip: a third of its letters at most, or
// `word` is how it begins. Empty otherwise.
std::string nearest(std::string_view word, const std::vector<std::string>& names);

// ": did you mean 'x'?", or nothing.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& names);

}  // namespace agentd
