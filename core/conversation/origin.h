// SPDX-License-Identifier: Apache-2.0
#pragma once
// origin.h - facts about messages that the ABI-shaped rows cannot hold, kept by sequence.
//
// It names the model of each answer, because only that model can read some of it, such as the signatures of its
// thinking. It also says after which message a run was interrupted, so that a request can say so.
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
  std::string model;     // as named in the request
  bool known() const { return !model.empty(); }
  bool operator==(const Origin&) const = default;
};

// Why a run ended before its answer was complete.
enum class Interruption : std::uint8_t {
  kEnded,  // the user ended it, or the process did
  kError,
  kHook,
};

// The origins of a view's messages, and where its runs were interrupted.
class Origins {
 public:
  void note(std::uint64_t seq, Origin origin) {
    if (origin.known()) of_.insert_or_assign(seq, std::move(origin));
  }
  // Existing entries stay.
  void add(const Origins& others) {
    of_.insert(others.of_.begin(), others.of_.end());
    interruptions_.insert(others.interruptions_.begin(), others.interruptions_.end());
  }
  // Null when nothing is known: the message is old, or not a model's.
  const Origin* of(std::uint64_t seq) const {
    const auto found = of_.find(seq);
    return found == of_.end() ? nullptr : &found->second;
  }
  // The message is the last of an interrupted run.
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
