// SPDX-License-Identifier: Apache-2.0
#pragma once
// base64.h - bytes as text: RFC 4648, section 4, with padding and without line ends.
//
// Threading: pure functions.

#include <string>
#include <string_view>

namespace agentd {

// REQUIRES: at most 1 GiB.
std::string base64(std::string_view bytes);
// True for a text that base64() could have written.
bool is_base64(std::string_view text);

// Decodes what base64() wrote, with a zero byte for each '=' at its end; empty for any other text.
// REQUIRES: at most 1 GiB.
std::string from_base64(std::string_view text);

// At most the first twelve bytes of what base64() wrote.
std::string base64_head(std::string_view text);

}  // namespace agentd
