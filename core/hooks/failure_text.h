// SPDX-License-Identifier: Apache-2.0
#pragma once
// failure_text.h - why a hook failed, and how much of that may be shown where the event's text was removed.
//
// Threading: values.

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace agentd {

// One sentence. Its first `own` bytes are agentd's words; the others may quote what the hook was given: a line of its
// standard error, the begin of its output.
struct FailureText {
  static constexpr std::size_t kAll = std::string::npos;

  FailureText() = default;
  FailureText(std::string sentence, std::size_t own_bytes = 0) : text(std::move(sentence)), own(own_bytes) {}
  FailureText(const char* sentence, std::size_t own_bytes = 0) : text(sentence), own(own_bytes) {}

  bool empty() const { return text.empty(); }

  std::string text;
  std::size_t own = 0;  // kAll = every word is agentd's
};

// The sentence for an event whose text a hook has blocked or rewritten: without the words that may quote it.
inline std::string without_quotes(std::string_view text, std::size_t own) {
  if (text.size() <= own) return std::string(text);
  return std::string(own == 0 ? "it failed" : text.substr(0, own)) +
         " (its own words are left out, since they may quote what was removed; 'agentd hooks test' shows them)";
}

}  // namespace agentd
