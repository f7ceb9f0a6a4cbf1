// SPDX-License-Identifier: Apache-2.0
#pragma once
// scrubber.h - finds secrets in a text and replaces them by "[redacted:RULE]".
//
// What leaves the process or is kept (tool output, user text, logs) passes here, so that a key that
// a tool printed is not sent, stored and summarised for ever. It is a net, not a wall: a secret of
// a form that no rule knows, or one that was encoded, is not found.
//
// What holds: 1. only bytes of a secret are replaced, so that valid UTF-8 stays valid; 2. scrubbing
// what was scrubbed changes nothing; 3. the time is linear in the text, and a text without anything
// that looks like a secret is read once, at the speed of a table lookup for two bytes.
//
// Threading: immutable; every function may be called on many threads at once.

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace agentd {

// Bytes at .. at+length of the text are a secret, says the rule.
struct ScrubFinding {
  std::string rule;
  std::size_t at = 0, length = 0;
};

struct Scrubbed {
  std::string text;
  std::vector<ScrubFinding> findings;  // by rising place in the text as it was
  std::map<std::string, std::size_t> counts() const;
};

struct ScrubOptions {
  // A rule of the user's: an RE2 expression, whose first group, if it has one, is the secret.
  struct Extra {
    std::string id, pattern;
  };
  std::vector<std::string> disable;  // ids of scrub_rules()
  std::vector<Extra> extra;
};

class Scrubber {
 public:
  // kInvalid: an id that is not there, is there already or is no id; an expression that RE2
  // refuses. Without `extra` nothing is compiled yet.
  static Result<Scrubber> make(ScrubOptions options = {});
  Scrubber(Scrubber&&) noexcept;
  Scrubber& operator=(Scrubber&&) noexcept;
  ~Scrubber();

  // Loads the library of regular expressions now instead of when it is first needed. kUnavailable:
  // it is not installed.
  Result<void> prepare() const;
  // The text without its secrets. kUnavailable as above, when the text has what looks like one:
  // then nothing is known of it.
  Result<Scrubbed> scrub(std::string_view text) const;
  // The ids of the built-in rules, each once.
  static std::vector<std::string> rule_ids();

 private:
  struct State;
  explicit Scrubber(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace agentd
