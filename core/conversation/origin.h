// SPDX-License-Identifier: Apache-2.0
#pragma once
// origin.h - what rows, which have the shape of the plugin ABI, have no place for: kept beside them, by
// sequence.
//
// Which model a message came from: some of what a model answers only that model can read again, as the
// signatures of its thinking. And behind which message a run broke off, so that a request can say so.
//
// Threading: values.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace agentd {

struct Origin {
  std::string provider;  // "anthropic"
  std::string api;       // the provider's wire format: "messages"
  std::string model;     // as the request named it
  bool known() const { return !model.empty(); }
  bool operator==(const Origin&) const = default;
};

// Why a run ended before its answer was whole.
enum class Interruption : std::uint8_t {
  kEnded,  // the user wanted it so, or the process ended
  kError,
  kHook,
};

// The origins of a view's messages, and where its runs were interrupted.
class Origins {
 public:
  void note(std::uint64_t seq, Origin origin) {
    if (origin.known()) of_.insert_or_assign(seq, std::move(origin));
  }
  // What is noted already stays.
  void add(const Origins& others) {
    of_.insert(others.of_.begin(), others.of_.end());
    interruptions_.insert(others.interruptions_.begin(), others.interruptions_.end());
  }
  // Null when nothing is known of the message: it is older, or nobody's answer.
  const Origin* of(std::uint64_t seq) const {
    const auto found = of_.find(seq);
    return found == of_.end() ? nullptr : &found->second;
  }
  // The message is the last of a run that was interrupted.
  void note_interruption(std::uint64_t seq, Interruption why) { interruptions_.insert_or_assign(seq, why); }
  std::optional<Interruption> interruption_behind(std::uint64_t seq) const {
    const auto found = interruptions_.find(seq);
    return found == interruptions_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  std::map<std::uint64_t, Origin> of_;
  std::map<std::uint64_t, Interruption> interruptions_;
};

}  // namespace agentd
