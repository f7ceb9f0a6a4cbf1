// SPDX-License-Identifier: Apache-2.0
#pragma once
// regex.h - regular expressions of RE2, whose library is loaded by the first expression.
//
// Debian's static libre2 cannot be linked into a module, and linking the shared one costs every start of agentd 1.5 ms
// that most runs do not use. So its three needed functions are looked up by name on first use; the rest of RE2's
// interface is inline in its header.
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
  bool lines = false;  // as grep reads: a match stays within its line; "^" and "$" are a line's ends
};

// One expression. Every search takes time linear in the text.
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

  // The first match at or after byte `from`.
  std::optional<Match> find(std::string_view text, std::size_t from = 0) const;
  // As above, with its groups: groups[0] is the complete match; a group that did not match has length 0 at 0.
  bool find(std::string_view text, std::size_t from, std::span<Match> groups) const;
  bool matches_whole(std::string_view text) const;

 private:
  struct State;
  explicit Regex(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace agentd
