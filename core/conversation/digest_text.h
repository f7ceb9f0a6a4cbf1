// SPDX-License-Identifier: Apache-2.0
#pragma once
// digest_text.h - a digest as records and receipts write it: 64 lower-case hexadecimal digits.
//
// Threading: pure functions.

#include <optional>
#include <string_view>

#include "core/base/hash.h"

namespace agentd {

// Parses what hex() wrote; nothing for any other text.
std::optional<Digest> read_digest(std::string_view text);

}  // namespace agentd
