// SPDX-License-Identifier: Apache-2.0
#include "core/base/recent_texts.h"

#include <utility>

namespace agentd {

const std::string* RecentTexts::find(std::string_view key) {
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found->second);
  return &entries_.front().text;
}

void RecentTexts::put(std::string_view key, std::string text) {
  if (find(key) != nullptr) {
    bytes_ -= entries_.front().text.size();
    entries_.front().text = std::move(text);
    bytes_ += entries_.front().text.size();
  } else {
    std::list<Entry> made;
    made.push_front({std::string(key), std::move(text)});
    by_key_.emplace(made.front().key, made.begin());
    bytes_ += made.front().bytes();
    entries_.splice(entries_.begin(), made);
  }
  while (entries_.size() > 1 && (entries_.size() > keys_max_ || bytes_ > bytes_max_)) {
    bytes_ -= entries_.back().bytes();
    by_key_.erase(entries_.back().key);
    entries_.pop_back();
  }
}

void RecentTexts::clear() {
  by_key_.clear();
  entries_.clear();
  bytes_ = 0;
}

}  // namespace agentd
