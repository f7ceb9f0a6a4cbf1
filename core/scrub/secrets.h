// SPDX-License-Identifier: Apache-2.0
#pragma once
// secrets.h - the border at which secrets stop: texts that pass it have placeholders in their place, and what a model
// makes of such a text is judged, or led back to the bytes that it stands for.
//
// The key of the placeholders is read when the first secret is found, and the rules are made ready for the first text,
// so that a process which meets no secret reads no file for this.
//
// Threading: thread-safe.

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/mutex.h"
#include "core/scrub/scrubber.h"

namespace agentd {

class Secrets {
 public:
  // Gives the key: once, on any thread.
  using KeySource = std::function<Result<std::string>()>;
  // Errors of Scrubber::make() about the user's settings. `rules` has no mark of its own.
  static Result<std::unique_ptr<Secrets>> make(ScrubOptions rules, KeySource key);

  // These look as well, from here on.
  void set_extra(std::vector<std::shared_ptr<const ExtraScrubber>> extra);  // shared with who offers them

  // As Scrubber::scrub(), with placeholders. kUnavailable: the library of expressions or the key cannot be had.
  Result<Scrubbed> scrub(std::string_view text) const;

  // The same for a text that has to continue in any case: one that cannot be looked through is withheld, with the
  // reason in its place.
  struct Passed {
    std::string text;
    std::map<std::string, std::size_t> counts;  // by rule
  };
  Passed pass(std::string text) const;
  // The same by the rules alone: for the diagnostic log, which those who look as well may write to.
  Passed pass_by_rules(std::string text) const;

  // The first placeholder of this key in a text, which stands for a secret that its author has not seen.
  std::optional<std::string> own_in(std::string_view text) const;

  // `edited`, which was made from scrub(bytes).text, with the bytes' own secrets under each placeholder that stayed.
  // kInvalid: a placeholder is not of these bytes, or stands for two of their secrets, or a secret would no longer be
  // found where it is now, so that the next reader would see it.
  Result<std::string> restored(std::string_view bytes, std::string_view edited) const;

 private:
  explicit Secrets(ScrubOptions rules, KeySource key) : rules_(std::move(rules)), source_(std::move(key)) {}
  Result<const Scrubber*> scrubber() const;
  Result<const Placeholders*> placeholders() const;
  bool is_own(const PlaceholderForm& form) const;
  Passed passed(const Result<Scrubbed>& clean) const;
  Result<std::map<std::string, std::string, std::less<>>> secrets_of(std::string_view bytes) const;

  ScrubOptions rules_;
  const KeySource source_;
  mutable Mutex mutex_;  // both stay once they are made
  mutable std::optional<Result<Scrubber>> scrubber_ GUARDED_BY(mutex_);
  mutable Mutex key_mutex_;
  mutable std::optional<Placeholders> placeholders_ GUARDED_BY(key_mutex_);
  mutable Mutex extra_mutex_;
  std::vector<std::shared_ptr<const ExtraScrubber>> extra_ GUARDED_BY(extra_mutex_);
};

// "2 secrets were replaced (aws-access-key ×2)".
std::string told_of(const std::map<std::string, std::size_t>& counts);

// The key in that file (0600), which is made with a new one if it is not there: of processes that do so at once all get
// the same. kCorrupt: it holds something else.
Result<std::string> secrets_key(const std::string& path);
// A key that ends with the process.
std::string new_secrets_key();

}  // namespace agentd
