// SPDX-License-Identifier: Apache-2.0
#pragma once
// check.h - checks everything in a store: what is intact, what is damaged, and where.
//
// Works on a store that other processes write to, and on one that would crash LMDB (pages.h).
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

// The contents of a store that were read and found intact.
struct StoreInventory {
  struct Conversation {
    Ulid id;
    std::vector<Pages::Row> batches;  // in order, from sequence 1 on without a gap
    LogHead head;                     // by the log
    ConversationInfo info;            // by the log; of revision 0 when nothing is left
    std::uint64_t next = 0;  // the first sequence after the last intact batch, when the log continues; 0 = it does not
    std::uint64_t cursor = 0;  // its place in lists; 0 = unknown
  };
  std::vector<Conversation> conversations;
  std::map<Digest, Pages::Row> blobs;
  std::map<Digest, std::uint64_t> mentions;  // by the logs and receipts
  std::vector<Pages::Row> receipts, keys;
};

// Reads all of it and reports damage in `report`. `sweep`: also searches for batches and blobs of pages that a damaged
// page hides.
StoreInventory take_inventory(Pages& pages, bool sweep, StoreReport& report);

// Checks what LMDB would crash on: pages and trees, no values. kCorrupt with one sentence.
Result<void> look_at_pages(const std::string& directory);

}  // namespace agentd
