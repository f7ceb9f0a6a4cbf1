// SPDX-License-Identifier: Apache-2.0
#pragma once
// catch_up.h - the tables of the search index, and how they follow the store's feed of changes.
//
// The index keeps the cursor of the feed up to which it is complete, the file of the store, and the change at that
// cursor with the hash of its chain: a store that was replaced by a backup or another one does not have that change.
// Each conversation has the revision up to which it is indexed, so only newer records are read.
//
// The index has a text of its own: without the old text, FTS5 cannot remove a word. Removed words stay in the bytes of
// the file until they are merged away, so after a removal or an erasure the index is built again.
//
// Threading: pure functions on a database and a store.

#include <optional>
#include <string>
#include <vector>

#include "core/base/cancel.h"
#include "core/base/result.h"
#include "core/search/database.h"
#include "core/store/store.h"

namespace agentd {

// Version of the tables, of index_text() and of searchable_text(); another one is built again.
inline constexpr int kIndexFormat = 1;

// Makes the tables of an empty index in an empty file.
Result<void> create_index(const Database& index, const Store& store);

// Adds everything that the store has and the index lacks, as one transaction. A reason: the index cannot follow and
// must be built again; it is unchanged. `notes` gets a sentence for each conversation that cannot be read to its end.
// kCorrupt is the index's own; an error of the store is kUnavailable.
// kCancelled: `cancel` was set, and nothing was added.
Result<std::optional<std::string>> catch_up(const Database& index, const Store& store, std::vector<std::string>& notes,
                                            const CancelToken& cancel = {});

// Makes the code of a store's error differ from those of the index.
Error error_of_store(const Error& error);

}  // namespace agentd
