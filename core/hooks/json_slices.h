// SPDX-License-Identifier: Apache-2.0
#pragma once
// json_slices.h - the original text of each value of a JSON object or array.
//
// A tool's input is passed on byte for byte, including spaces and 1.50; parsing would lose these.
//
// Threading: pure functions.

#include <string_view>
#include <vector>

namespace agentd {

// The values of the members or elements in order, with the white space around them. REQUIRES: `json` is valid JSON
// (JsonDocument::parse); text that is not an object or array has none.
std::vector<std::string_view> json_slices(std::string_view json);

// Removes the white space at both ends.
std::string_view json_trimmed(std::string_view json);

}  // namespace agentd
