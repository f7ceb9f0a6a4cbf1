// SPDX-License-Identifier: Apache-2.0
#pragma once
// canonical_json.h - an object that a stranger wrote, read in the one way in which every reader
// reads it.
//
// JSON leaves open what a duplicate key, half a surrogate pair or a number without a place in a
// double mean, and programs differ. What is accepted here is accepted by jq, Python and Node as
// well, with the same value; what they would read differently is refused.
//
// Threading: pure functions.

#include <functional>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace agentd {

struct CanonicalJsonLimits {
  std::size_t bytes = 4u << 20;  // of the text as it came, and of its canonical form
  int depth = 64;                // the object itself is level 1
};

// Changes the text of a member of the object itself; what it returns is written.
using MemberText = std::function<std::string(std::string_view key, std::string_view text)>;

// The one serialisation of `text`: no white space between tokens, members in their order, escapes
// only where JSON demands them, whole numbers without fraction or exponent, others in the fewest
// digits. The canonical form of a canonical form is itself.
//
// kInvalid, with a sentence without a subject ("has the key \"command\" twice"): not one whole
// object, a byte order mark, anything behind the object, invalid UTF-8, unpaired surrogates, a key
// twice in one object at any level, more levels or bytes than the limits, whole numbers beyond
// 2^53, numbers that a double cannot hold.
Result<std::string> canonical_object(std::string_view text, const CanonicalJsonLimits& limits = {},
                                     const MemberText& member_text = {});

}  // namespace agentd
