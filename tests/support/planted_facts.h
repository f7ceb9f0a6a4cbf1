// SPDX-License-Identifier: Apache-2.0
#pragma once
// planted_facts.h - words that are planted in a history, to be looked for in what a pipeline makes
// of it.
//
// Threading: thread-compatible.

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace agentd::testing {

// Facts: one word each, with letters of one to four bytes, and where they were planted.
class Facts {
 public:
  // A new fact, to be put somewhere.
  std::string plant(const std::string& where) {
    const std::string number = std::to_string(1'000'000 + where_.size()).substr(1);
    std::string fact = "⟦fact:" + number + ":src/größe/日本😀.cc⟧";
    where_.emplace(fact, where);
    return fact;
  }
  // The facts of a text, in their order.
  static std::vector<std::string> of(std::string_view text) {
    constexpr std::string_view kBegin = "⟦fact:", kEnd = ".cc⟧";
    std::vector<std::string> out;
    for (std::size_t at = text.find(kBegin); at != std::string_view::npos; at = text.find(kBegin, at + 1)) {
      const std::size_t end = text.find(kEnd, at);
      if (end == std::string_view::npos) break;
      const std::string one(text.substr(at, end + kEnd.size() - at));
      // A fact that was cut and a later one's end are no fact.
      if (one.size() == std::string("⟦fact:000000:src/größe/日本😀.cc⟧").size()) out.push_back(one);
    }
    return out;
  }
  const std::map<std::string, std::string>& all() const { return where_; }
  std::size_t size() const { return where_.size(); }

 private:
  std::map<std::string, std::string> where_;
};

// No letter is cut.
inline bool is_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto c = static_cast<unsigned char>(text[i]);
    const std::size_t length = c < 0x80 ? 1 : c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc2 ? 2 : 0;
    if (length == 0 || i + length > text.size()) return false;
    for (std::size_t k = 1; k < length; ++k)
      if ((static_cast<unsigned char>(text[i + k]) & 0xc0) != 0x80) return false;
    i += length;
  }
  return true;
}

}  // namespace agentd::testing
