// SPDX-License-Identifier: Apache-2.0
#pragma once
// visible_word.h - a word of a command for a person who decides about it: what a shell would read as that very word,
// with nothing in it that a terminal does not show.
//
// Threading: a pure function.

#include <string>
#include <string_view>

namespace agentd {

// shell_word(), but a word with line breaks, tabs, other control characters or characters that visible() escapes is
// written as bash reads it: $'# comment\nnext line'. A byte that is not UTF-8 is shown as U+FFFD.
std::string visible_word(std::string_view word);

}  // namespace agentd
