// SPDX-License-Identifier: Apache-2.0
#pragma once
// recent_texts.h - the texts kept for the most recently used keys.
//
// For what is known of conversations, whose ends are not always told: memory has a limit, and beyond it the least
// recently used key is forgotten.
//
// Threading: belongs to one thread, or to its owner's mutex.

#include <cstddef>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>

namespace agentd {

class RecentTexts {
 public:
  // At most `keys_max` keys, which with their texts have at most `bytes_max` bytes; the newest is kept in any case.
  RecentTexts(std::size_t keys_max, std::size_t bytes_max) : keys_max_(keys_max), bytes_max_(bytes_max) {}
  RecentTexts(const RecentTexts&) = delete;
  RecentTexts& operator=(const RecentTexts&) = delete;

  // Counts as a use. Null = none is kept; valid until the next put() or clear().
  const std::string* find(std::string_view key);
  void put(std::string_view key, std::string text);
  void clear();
  std::size_t size() const { return by_key_.size(); }

 private:
  struct Entry {
    std::string key, text;
    std::size_t bytes() const { return key.size() + text.size(); }
  };
  const std::size_t keys_max_, bytes_max_;
  std::size_t bytes_ = 0;
  std::list<Entry> entries_;  // most recently used first
  std::unordered_map<std::string_view, std::list<Entry>::iterator> by_key_;
};

}  // namespace agentd
