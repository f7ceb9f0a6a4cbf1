// SPDX-License-Identifier: Apache-2.0
#pragma once
// key_sequences.h - what a terminal sends for keys that are no characters, told apart from text.
//
// libedit knows the sequences that are bound to something and takes the rest of any other one for
// text. So what means nothing to it - function keys, reports of the mouse and of the terminal - is
// taken out before.
//
// Threading: pure functions.

#include <string>
#include <string_view>

namespace agentd::app {

// Returns the typed bytes without the escape sequences that the line editor does not bind. An
// incomplete sequence at the end goes to `rest`, to be put before the next bytes; Alt with a key is
// kept.
std::string known_keys(std::string_view typed, std::string& rest);

}  // namespace agentd::app
