// SPDX-License-Identifier: Apache-2.0
#pragma once
// known_heads.h - the heads of the conversations whose leases this process holds, as their newest append left them, so
// that the next append is prepared without reading.
//
// A head may be stale when another process appends without the lease: the write transaction compares it.
//
// Threading: thread-safe.

#include <map>
#include <memory>
#include <optional>

#include "core/base/ids.h"
#include "core/base/mutex.h"
#include "core/conversation/info.h"
#include "core/store/log_rules.h"
#include "core/store/store.h"

namespace agentd {

// A log's end, and the index up to it.
struct KnownHead {
  LogHead head;
  ConversationInfo info;
};

class KnownHeads {
 public:
  // Takes it out. Nothing unless the lease is held and an append was seen since.
  std::optional<KnownHead> take(const Ulid& conversation);
  // Ignored unless the lease is held.
  void keep(const Ulid& conversation, KnownHead head);

  // `lease`, with what is known of its conversation until it ends.
  static std::unique_ptr<Lease> during(std::unique_ptr<Lease> lease, const std::shared_ptr<KnownHeads>& heads,
                                       const Ulid& conversation);

 private:
  Mutex mutex_;
  std::map<Ulid, std::optional<KnownHead>> held_ GUARDED_BY(mutex_);
};

}  // namespace agentd
