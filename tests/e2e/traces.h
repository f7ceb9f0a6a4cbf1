// SPDX-License-Identifier: Apache-2.0
#pragma once
// traces.h - what a run leaves behind, without what differs from run to run: two runs that did the same compare equal.
//
// Threading: pure functions.

#include <string>

#include "tests/e2e/program.h"

namespace agentd::testing {

// Ids, times and digests become "#": words of 20 letters and digits, or of 9 digits, and more.
std::string without_chance(const std::string& text);
// Removes the values of the JSON members that are times, or counts of tokens, in which the place is.
std::string without_measures(std::string text);
// The directory of the program's home and project becomes "PLACE".
std::string without_place(std::string text, const Program& program);

}  // namespace agentd::testing
