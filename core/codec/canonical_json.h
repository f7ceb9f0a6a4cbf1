// SPDX-License-Identifier: Apache-2.0
#pragma once
// canonical_json.h - reads an untrusted JSON object in the one way in which every reader reads it.
//
// JSON leaves open what a duplicate key, half a surrogate pair or a number that no double can hold means, and programs
// differ. An accepted text is accepted by jq, Python and Node as well, with the same value; a text that they would read
// differently is refused.
//
// Threading: pure functions.

#include <functional>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace agentd {

struct CanonicalJsonLimits {
  std::size_t bytes = 4u << 20;  // of the original text, and of its canonical form
  int depth = 64;                // the object itself is level 1
  // Whole numbers beyond 2^53 stay as they are written: for a text that is passed on, and decides nothing.
  bool wide_numbers = false;
};

// Replaces the text of a member of the outermost object; its return value is written.
using MemberText = std::function<std::string(std::string_view key, std::string_view text)>;

// Returns the one serialisation of `text`: no white space between tokens, members in their order, escapes only where
// JSON demands them, whole numbers without fraction or exponent, others in the fewest digits. The canonical form of a
// canonical form is itself.
//
// kInvalid, with a sentence that lacks its subject ("has the key \"command\" twice"): not one complete object, a byte
// order mark, text after the object, invalid UTF-8, unpaired surrogates, a key twice in one object at any level, more
// levels or bytes than the limits, whole numbers beyond 2^53 (unless wide_numbers), numbers that a double cannot hold.
Result<std::string> canonical_object(std::string_view text, const CanonicalJsonLimits& limits = {},
                                     const MemberText& member_text = {});

}  // namespace agentd
