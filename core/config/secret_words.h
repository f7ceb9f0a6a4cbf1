// SPDX-License-Identifier: Apache-2.0
#pragma once
// secret_words.h - what may be a secret in the settings of a server of the Model Context Protocol, and how it is shown:
// as "***", where variables (${NAME}) stay, since a reader must see which of them leaves.
//
// These are guesses by names and forms: a secret that looks like a word is not found.
//
// Threading: pure functions.

#include <cstddef>
#include <string>
#include <string_view>

namespace agentd {

// True for names such as "Authorization", "api_key", "--token".
bool is_secret_name(std::string_view name);

// True for a text that begins like a vendor's key, or that was made by a machine: a word of letters in both cases with
// digits, or a long number of hexadecimal digits.
bool looks_secret(std::string_view text);

// The text with all that is not a variable as "***": "*** ${NAME}", "${NAME:-***}". Blanks, colons and the scheme of an
// Authorization stay: "Bearer ***". A text without anything of its own is unchanged.
std::string without_literals(std::string_view text);

// The first of `characters` from `from` on that is in no variable; npos = none.
std::size_t find_outside_variables(std::string_view text, std::string_view characters, std::size_t from = 0);

}  // namespace agentd
