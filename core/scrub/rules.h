// SPDX-License-Identifier: Apache-2.0
#pragma once
// rules.h - the patterns of secrets: one table, read by Scrubber and by its tests.
//
// A rule is found by its anchors, literals that every such secret contains, and then decided by an RE2 expression that
// begins at the anchor. So a text without anchors never meets an expression.
//
// Threading: immutable data.

#include <cstdint>
#include <span>
#include <string_view>

namespace agentd {

// The characters that may precede the match.
enum class ScrubLeft : std::uint8_t {
  kAny,
  kNoWord,     // no letter, digit or "_": the token begins here
  kNoToken,    // and no "-" either
  kDigit,      // a digit: the public half of the token ends here
  kParameter,  // a "?", "&", ";" or quotation mark: a parameter begins here
};

// The check of the found value besides its expression.
enum class ScrubCheck : std::uint8_t {
  kNone,
  kMixed,     // letters and digits, and entropy: for formats that ordinary words also match
  kPassword,  // not a placeholder such as "password", "***" or "${PASSWORD}"
  kValue,     // entropy; not a placeholder, identifier, path or program expression
};

struct ScrubRuleSpec {
  std::string_view id;
  std::string_view anchors;  // separated by spaces; each of at least 3 bytes
  // Matched at the anchor. The first group that matched is the secret, or the complete match without one.
  std::string_view pattern;
  ScrubLeft left = ScrubLeft::kNoWord;
  ScrubCheck check = ScrubCheck::kNone;
  bool any_case = false;    // anchors and expression
  bool assigned = false;    // the anchor is part of a name; = or : and the value follow it
  std::uint8_t before = 0;  // bytes of the secret before the anchor
  bool spans = false;       // many lines
  bool generic = false;     // finds a value by its place, not by its form: other rules name it better
};

// In order of preference: the earliest of the rules that find the same bytes names them.
std::span<const ScrubRuleSpec> scrub_rules();

// Shannon entropy in bits per byte.
double entropy_of(std::string_view text);
bool passes(ScrubCheck check, std::string_view value);

}  // namespace agentd
