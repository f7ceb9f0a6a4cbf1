// SPDX-License-Identifier: Apache-2.0
#pragma once
// matcher.h - selects the tools (sources, triggers) for which a hook is called; parsed once.
//
// "" and "*" match everything. The rest depends on the rules:
//   agentd, claude  only letters, digits, "_", "-", ":" and ".": exactly that name; names joined by "|"
//                   or "," (spaces around them are ignored): one of them; anything else: RE2, found
//                   anywhere
//   docker          RE2 over the complete subject
//   gemini          RE2 found anywhere, for tools; exactly the name, for lifecycle events
// Text that RE2 cannot read is always an error, even where the other tool accepts it: JavaScript's look-around and
// back-references, and in Gemini CLI invalid expressions, which it compares literally with tool names.
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
  // kInvalid names the mistake in the expression (RE2's memory limit included).
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
