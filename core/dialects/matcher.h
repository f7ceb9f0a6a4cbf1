// SPDX-License-Identifier: Apache-2.0
#pragma once
// matcher.h - for which tools (sources, triggers) a hook is asked; parsed once.
//
// "" and "*" match everything. How the rest reads depends on whose rules it follows:
//   agentd, claude  letters, digits, "_", "-", ":" and "." alone: that name exactly; names joined by "|"
//                   or "," (spaces around them do not count): one of them; anything else: RE2, found
//                   anywhere
//   docker          RE2 over the whole subject
//   gemini          RE2 found anywhere, for tools; every lifecycle event: exactly
// What RE2 does not read is an error in all of them, also where the other tool has a use for it: expressions of
// JavaScript with look-around or back-references, and in Gemini CLI a text that is no expression at all, which it
// compares with names of tools that cannot be.
//
// Threading: immutable; copies share the compiled expression.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/codec/regex.h"

namespace agentd {

enum class MatcherRules : std::uint8_t { kAgentd, kDocker, kGeminiTool, kExact };

class Matcher {
 public:
  Matcher() = default;  // matches everything
  // kInvalid says what is wrong with the expression (a bound of RE2's memory among it).
  static Result<Matcher> parse(std::string_view text, MatcherRules rules);

  bool matches(std::string_view subject) const;
  bool matches_all() const { return names_.empty() && !regex_; }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  std::vector<std::string> names_;
  std::shared_ptr<const Regex> regex_;  // shared by copies; immutable
  bool whole_ = false;
};

}  // namespace agentd
