// SPDX-License-Identifier: Apache-2.0
#pragma once
// glob.h - globs for tool names and paths.
//
// "*" and "?" stay within a path's component, "**" is any number of components, [abc] and [!a-z]
// are one character. No backtracking beyond the last star of each kind: time is at most the product
// of both lengths.
//
// Threading: pure functions.

#include <string_view>

namespace guardrail {

// The whole path. "x/**" matches x as well as all below it.
bool path_matches(std::string_view glob, std::string_view path);
// One of several globs between "|", letters of both cases; "*" crosses everything.
bool name_matches(std::string_view globs, std::string_view name);

}  // namespace guardrail
