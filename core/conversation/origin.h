// SPDX-License-Identifier: Apache-2.0
#pragma once
// origin.h - which model a message came from.
//
// Some of what a model answers only that model can read again: signatures of its thinking. Rows have the
// shape of the plugin ABI and no place for it, so it is kept beside them, by sequence.
//
// Threading: values.

#include <cstdint>
#include <map>
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

// The origins of a view's messages.
class Origins {
 public:
  void note(std::uint64_t seq, Origin origin) {
    if (origin.known()) of_.insert_or_assign(seq, std::move(origin));
  }
  // What is noted already stays.
  void add(const Origins& others) { of_.insert(others.of_.begin(), others.of_.end()); }
  // Null when nothing is known of the message: it is older, or nobody's answer.
  const Origin* of(std::uint64_t seq) const {
    const auto found = of_.find(seq);
    return found == of_.end() ? nullptr : &found->second;
  }

 private:
  std::map<std::uint64_t, Origin> of_;
};

}  // namespace agentd
