// SPDX-License-Identifier: Apache-2.0
#pragma once
// base64.h - bytes as text, as RFC 4648, section 4, has it: with padding, without line ends.
//
// Threading: pure functions.

#include <string>
#include <string_view>

namespace agentd {

// REQUIRES: at most 1 GiB.
std::string base64(std::string_view bytes);
// True for what base64() writes.
bool is_base64(std::string_view text);

// The bytes of a text of base64(), with a zero for each '=' at its end; empty for another text.
// REQUIRES: at most 1 GiB.
std::string from_base64(std::string_view text);

// The first bytes of a text of base64(), twelve at most.
std::string base64_head(std::string_view text);

}  // namespace agentd
