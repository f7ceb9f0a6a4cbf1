// SPDX-License-Identifier: Apache-2.0
#include "core/store/lmdb/known_heads.h"

#include <utility>

namespace agentd {

std::optional<KnownHead> KnownHeads::take(const Ulid& conversation) {
  const MutexLock lock(mutex_);
  const auto held = held_.find(conversation);
  return held == held_.end() ? std::nullopt : std::exchange(held->second, std::nullopt);
}

void KnownHeads::keep(const Ulid& conversation, KnownHead head) {
  const MutexLock lock(mutex_);
  if (const auto held = held_.find(conversation); held != held_.end()) held->second = std::move(head);
}

std::unique_ptr<Lease> KnownHeads::during(std::unique_ptr<Lease> lease, const std::shared_ptr<KnownHeads>& heads,
                                          const Ulid& conversation) {
  class Held final : public Lease {
   public:
    Held(std::unique_ptr<Lease> lease, std::shared_ptr<KnownHeads> heads, const Ulid& conversation)
        : heads_(std::move(heads)), conversation_(conversation), lease_(std::move(lease)) {
      const MutexLock lock(heads_->mutex_);
      heads_->held_.emplace(conversation_, std::nullopt);
    }
    ~Held() override {
      const MutexLock lock(heads_->mutex_);
      heads_->held_.erase(conversation_);
    }

   private:
    const std::shared_ptr<KnownHeads> heads_;
    const Ulid conversation_;
    const std::unique_ptr<Lease> lease_;
  };
  return std::make_unique<Held>(std::move(lease), heads, conversation);
}

}  // namespace agentd
