// SPDX-License-Identifier: Apache-2.0
#pragma once
// markdown.h - text that is shown by a reader of Markdown.
//
// Threading: pure functions.

#include <string>
#include <string_view>

namespace agentd {

// The text as a code block, as it is: its fence is longer than any run of backticks in it.
std::string fenced(std::string_view text, std::string_view language);

}  // namespace agentd
