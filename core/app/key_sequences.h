// SPDX-License-Identifier: Apache-2.0
#pragma once
// key_sequences.h - separates the escape sequences of keys from typed text.
//
// libedit knows only bound sequences and takes the rest of any other one for text. So sequences that it does not
// bind - function keys, reports of the mouse and the terminal - are removed first.
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
