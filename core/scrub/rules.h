// SPDX-License-Identifier: Apache-2.0
#pragma once
// rules.h - what secrets look like: one table, read by Scrubber and by its tests.
//
// A rule is found by its anchors, literals that every such secret contains, and then decided by an
// RE2 expression that begins at the anchor. So a text without anchors never meets an expression.
//
// Threading: immutable data.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace agentd {

// What may stand right before the match.
enum class ScrubLeft : std::uint8_t {
  kAny,
  kNoWord,     // no letter, digit or "_": the token begins here
  kNoToken,    // and no "-" either
  kDigit,      // a digit: the public half of the token ends here
  kParameter,  // a "?", "&", ";" or quotation mark: a parameter begins here
};

// What the found value must pass beside its expression.
enum class ScrubCheck : std::uint8_t {
  kNone,
  kMixed,     // letters and digits, and entropy: for formats that ordinary words could have
  kPassword,  // no placeholder such as "password", "***" or "${PASSWORD}"
  kValue,     // entropy, no placeholder, no identifier, path or expression of a program
};

struct ScrubRuleSpec {
  std::string_view id;
  std::string_view anchors;  // separated by spaces; each of at least 3 bytes
  // Matched at the anchor. The first group that took part is the secret, the whole match when there
  // is none.
  std::string_view pattern;
  ScrubLeft left = ScrubLeft::kNoWord;
  ScrubCheck check = ScrubCheck::kNone;
  bool any_case = false;    // anchors and expression
  bool assigned = false;    // the anchor is part of a name; behind it stand = or : and the value
  std::uint8_t before = 0;  // bytes of the secret that stand before the anchor
  bool spans = false;       // many lines
  bool generic = false;     // names a value by its place, not by its own form: others name it better
};

// In order of preference: where two rules find the same bytes, the earlier one names them.
std::span<const ScrubRuleSpec> scrub_rules();

// Shannon entropy of the bytes, in bits for each.
double entropy_of(std::string_view text);
bool passes(ScrubCheck check, std::string_view value);

}  // namespace agentd
