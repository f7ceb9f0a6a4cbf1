// SPDX-License-Identifier: Apache-2.0
#pragma once
// refused.h - remembers seals of a model's thinking that its provider refused: they are not sent again, so that the
// conversation's next request is not refused first.
//
// Threading: thread-safe.

#include <cstddef>
#include <functional>
#include <string_view>
#include <unordered_set>

#include "core/base/mutex.h"
#include "providers/common/wire.h"

namespace agentd {

class RefusedSeals {
 public:
  bool holds(std::string_view seal) const {
    const MutexLock lock(mutex_);
    return hashes_.contains(std::hash<std::string_view>()(seal));
  }
  // Adds all seals of the messages, because the provider does not say which one it refused.
  void add_all(std::span<const agentd_message> rows) {
    const MutexLock lock(mutex_);
    for (const agentd_message& row : rows)
      for (const agentd_block& block : block_span(row))
        if (block.kind != AGENTD_BLOCK_IMAGE && block.opaque.len != 0 && hashes_.size() < kMost)
          hashes_.insert(std::hash<std::string_view>()(view_of(block.opaque)));
  }

 private:
  static constexpr std::size_t kMost = 100'000;
  mutable Mutex mutex_;
  std::unordered_set<std::size_t> hashes_ GUARDED_BY(mutex_);
};

}  // namespace agentd
