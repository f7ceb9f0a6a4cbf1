// SPDX-License-Identifier: Apache-2.0
#pragma once
// digest_text.h - a digest as records and receipts write it: 64 hexadecimal digits in lower case.
//
// Threading: pure functions.

#include <optional>
#include <string_view>

#include "core/base/hash.h"

namespace agentd {

// Nothing for any other text. hex() writes it.
std::optional<Digest> read_digest(std::string_view text);

}  // namespace agentd
