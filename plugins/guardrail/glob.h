// SPDX-License-Identifier: Apache-2.0
#pragma once
// glob.h - globs for tool names and paths.
//
// "*" and "?" stay within a path's component, "**" is any number of components, [abc] and [!a-z] are one character.
// Only the last star of each kind is retried, so the time is at most the product of both lengths.
//
// Threading: pure functions.

#include <string_view>

namespace guardrail {

// Matches the complete path. "x/**" matches x and everything below it.
bool path_matches(std::string_view glob, std::string_view path);
// Matches one of several globs separated by "|", ignoring case; "*" matches any characters.
bool name_matches(std::string_view globs, std::string_view name);

}  // namespace guardrail
