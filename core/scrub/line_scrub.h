// SPDX-License-Identifier: Apache-2.0
#pragma once
// line_scrub.h - removes secrets from a text that comes in pieces, and lets whole lines go out as they come.
//
// A line is looked at with the lines before it, so that a secret whose name stands above it is found. From the
// beginning of a private key nothing goes out until its end has come. The held text has a limit: a line without an end
// goes out in parts, each cut where no secret of up to 4 KiB can stand; a private key without an end is left out, with
// all that follows it, up to its end.
//
// It is for output that is shown while a tool runs. The complete output is looked at as a whole.
//
// Threading: thread-compatible.

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "core/scrub/secrets.h"

namespace agentd {

class LineScrub {
 public:
  // `secrets` outlives it. `held_max`: bytes.
  explicit LineScrub(const Secrets& secrets, std::size_t held_max = 64 * 1024)
      : secrets_(secrets), held_max_(held_max) {}

  // The text that may go out now; it may be empty.
  std::string push(std::string_view piece);
  // The rest.
  std::string finish();
  // Secrets that were replaced so far, by rule.
  const std::map<std::string, std::size_t>& counts() const { return counts_; }

 private:
  std::string release(std::size_t bytes);
  std::string release_full();
  void skip_key();

  const Secrets& secrets_;
  const std::size_t held_max_;
  std::string before_;  // the lines before, which have gone out
  std::string held_;
  bool in_key_ = false;  // of which nothing goes out
  std::map<std::string, std::size_t> counts_;
};

}  // namespace agentd
