// SPDX-License-Identifier: Apache-2.0
#pragma once
// scrubber.h - finds secrets in a text and replaces them by "[redacted:RULE]".
//
// Text that leaves the process or is kept (tool output, user text, logs) passes through it, so that a key that a tool
// printed is not sent, stored and summarised for ever. It does not guarantee anything: a secret of an unknown form, or
// one that was encoded, is not found.
//
// Invariants: 1. only bytes of a secret are replaced, so that valid UTF-8 stays valid; 2. scrubbing twice changes
// nothing more; 3. the time is linear in the text, and a text without anything like a secret is read once, at a table
// lookup per two bytes.
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

// The rule's secret: bytes at .. at+length of the text.
struct ScrubFinding {
  std::string rule;
  std::size_t at = 0, length = 0;
};

struct Scrubbed {
  std::string text;
  std::vector<ScrubFinding> findings;  // in order of place in the original text
  std::map<std::string, std::size_t> counts() const;
};

struct ScrubOptions {
  // A user's rule: an RE2 expression; its first group, if it has one, is the secret.
  struct Extra {
    std::string id, pattern;
  };
  std::vector<std::string> disable;  // ids of scrub_rules()
  std::vector<Extra> extra;
};

class Scrubber {
 public:
  // kInvalid: an unknown id, a duplicate or malformed id, an expression that RE2 refuses. Without `extra` nothing is
  // compiled yet.
  static Result<Scrubber> make(ScrubOptions options = {});
  Scrubber(Scrubber&&) noexcept;
  Scrubber& operator=(Scrubber&&) noexcept;
  ~Scrubber();

  // Loads the library of regular expressions now and not on first use. kUnavailable: it is not installed.
  Result<void> prepare() const;
  // The text without its secrets. kUnavailable as above, for a text that may contain a secret: nothing is known of it
  // then.
  Result<Scrubbed> scrub(std::string_view text) const;

 private:
  struct State;
  explicit Scrubber(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace agentd
