// SPDX-License-Identifier: Apache-2.0
#pragma once
// scrubber.h - finds secrets in a text and replaces them by marks: "[redacted:RULE]", or placeholders (placeholder.h).
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
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/scrub/placeholder.h"

namespace agentd {

// The rule's secret: bytes at .. at+length of the text.
struct ScrubFinding {
  std::string rule;
  std::size_t at = 0, length = 0;
  std::string mark{};  // what stands in its place
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
  // The mark that takes the secret's place, which this scrubber knows again: "[redacted:RULE]" or a placeholder. Empty
  // = the former. Called on any thread.
  std::function<Result<std::string>(std::string_view rule, std::string_view secret)> mark{};
  // Whether a placeholder whose rule is none of these is one all the same; empty = it is not. Otherwise a secret could
  // be written as the name of a rule.
  std::function<bool(const PlaceholderForm& form)> is_own{};
};

// Finds secrets that the rules do not know: a plugin's part. Its findings add up with those of the rules, and it can
// take none of them away.
//
// Threading: called on many threads at once.
class ExtraScrubber {
 public:
  virtual ~ExtraScrubber() = default;
  // In any order; they may overlap. An error means that nothing is known of the text, which is withheld then.
  virtual Result<std::vector<ScrubFinding>> find(std::string_view text) const = 0;
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
  // The text without its secrets. `also`: found by others, in bytes of the text; a finding that ends inside of a
  // character covers all of it, and one whose rule is no id is named "plugin". kUnavailable as above, for a text that
  // may contain a secret: nothing is known of it then. Errors of ScrubOptions::mark.
  Result<Scrubbed> scrub(std::string_view text, std::span<const ScrubFinding> also = {}) const;

 private:
  struct State;
  explicit Scrubber(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace agentd
