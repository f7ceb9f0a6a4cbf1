// SPDX-License-Identifier: Apache-2.0
#pragma once
// check.h - everything that a store holds, looked at: what is whole, what is damaged, and where.
//
// Works on a store that other processes write to, and on one that LMDB would die of (pages.h).
//
// Threading: pure functions on the file system. REQUIRES: this process does not have the store
// open.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/conversation/info.h"
#include "core/store/lmdb/pages.h"
#include "core/store/log_rules.h"
#include "core/store/store_care.h"

namespace agentd {

// What a store holds that was read and found whole.
struct StoreInventory {
  struct Conversation {
    Ulid id;
    std::vector<Pages::Row> batches;  // in order, from sequence 1 on without a gap
    LogHead head;                     // as the log says
    ConversationInfo info;            // likewise; of revision 0 when nothing is left
    std::uint64_t next = 0;           // what stood behind the last whole batch, when the log goes on; 0 = nothing
    std::uint64_t cursor = 0;         // its place in lists; 0 = unknown
  };
  std::vector<Conversation> conversations;
  std::map<Digest, Pages::Row> blobs;
  std::map<Digest, std::uint64_t> mentions;  // as the logs and receipts say
  std::vector<Pages::Row> receipts, keys;
};

// Reads all of it; what is damaged is told in `report`. `sweep`: batches and blobs of pages that a
// damaged page hides are looked for.
StoreInventory take_inventory(Pages& pages, bool sweep, StoreReport& report);

// What keeps LMDB from dying of the file: its pages and its trees, no values. kCorrupt with one
// sentence.
Result<void> look_at_pages(const std::string& directory);

}  // namespace agentd
