// SPDX-License-Identifier: Apache-2.0
#pragma once
// regex.h - regular expressions of RE2, whose library is loaded by the first expression.
//
// Debian's static libre2 cannot go into a module, and linking the shared one costs every start of
// agentd 1.5 ms for something that most runs do not use. So the three functions of it that are needed
// are looked up by name when they are needed; the rest of RE2's interface is inline in its header.
//
// Threading: Regex is immutable, compile() thread-safe.

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "core/base/result.h"

namespace agentd {

struct RegexOptions {
  bool ignore_case = false;
  bool lines = false;  // as grep reads: a match never goes beyond its line; "^" and "$" are a line's ends
};

// One expression; searching takes time linear in the text, whatever the expression.
class Regex {
 public:
  struct Match {
    std::size_t at = 0, length = 0;
  };
  // kInvalid with RE2's reason; kUnavailable when its library is not installed.
  static Result<Regex> compile(std::string_view pattern, const RegexOptions& options = {});
  Regex(Regex&&) noexcept;
  Regex& operator=(Regex&&) noexcept;
  ~Regex();

  // The first match at or behind byte `from`.
  std::optional<Match> find(std::string_view text, std::size_t from = 0) const;
  // The same with its groups: groups[0] is the whole match; a group that took no part has length 0 at 0.
  bool find(std::string_view text, std::size_t from, std::span<Match> groups) const;
  bool matches_whole(std::string_view text) const;

 private:
  struct State;
  explicit Regex(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace agentd
