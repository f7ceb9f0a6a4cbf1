// SPDX-License-Identifier: Apache-2.0
#pragma once
// regex.h - regular expressions of RE2, whose library is loaded by the first search.
//
// Debian's static libre2 cannot go into a module, and linking the shared one costs every start of
// agentd 1.5 ms for a tool that most runs do not use. So the three functions of it that are needed
// are looked up by name when they are needed; the rest of RE2's interface is inline in its header.
//
// Threading: RegexLibrary is thread-safe; Regex is immutable.

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace workspace_tools {

struct RegexFunctions;

// One expression. A match never goes beyond its line; "^" and "$" are the ends of a line.
class Regex {
 public:
  Regex(Regex&&) noexcept;
  Regex& operator=(Regex&&) noexcept;
  ~Regex();
  // Where the first match at or behind `from` begins; npos when there is none.
  std::size_t find(std::string_view text, std::size_t from) const;

 private:
  friend class RegexLibrary;
  struct State;
  explicit Regex(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

class RegexLibrary {
 public:
  RegexLibrary();
  ~RegexLibrary();
  // kInvalid with RE2's reason; kUnavailable when its library is not installed.
  agentd::Result<Regex> compile(std::string_view pattern, bool ignore_case);

 private:
  agentd::Result<const RegexFunctions*> functions();
  std::mutex mutex_;
  std::unique_ptr<RegexFunctions> functions_;  // NULL until the library is loaded
};

}  // namespace workspace_tools
