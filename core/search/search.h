// SPDX-License-Identifier: Apache-2.0
#pragma once
// search.h - full-text search in the conversations of a store.
//
// The index is a file next to the store that is derived from it alone (docs/adr/0028). It is brought up to date before
// each search, and after commits by an IndexFeeder (feeder.h), never by an append; it is built again when it is
// missing, damaged or does not fit the store. It only proposes: each hit is compared with the store's own text before
// it is shown, and the snippet is cut from that text.
//
// Threading: SearchIndex is thread-compatible; several processes may search at the same time.

#include <string>
#include <vector>

#include "core/base/cancel.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/result.h"
#include "core/search/index_files.h"
#include "core/search/query.h"
#include "core/store/store.h"

namespace agentd {

struct SqliteLibrary;

class SearchIndex {
 public:
  // `directory` gets the index. `wait`: how long another process's turn is waited for, at each step. Store, clock and
  // log must outlive it.
  SearchIndex(const std::string& directory, const Store& store, const Clock& clock, Log& log,
              Milliseconds wait = Milliseconds(5'000));

  // kInvalid: the text has no words, or too many. kBusy: another process is building the index. kUnavailable: no
  // SQLite, the disk is full, or the store cannot be read.
  Result<SearchAnswer> search(const SearchQuery& query) const;

  // Brings the index up to date, or builds it, without a search. kCancelled: `cancel` was set, and the index is as it
  // was. kBusy, kUnavailable: as above.
  Result<void> follow(const CancelToken& cancel) const;

 private:
  struct Opened;
  Result<void> complete(const SqliteLibrary& library, const IndexLock& lock, const std::string& reason,
                        std::vector<std::string>& notes, const CancelToken& cancel) const;
  Result<Opened> open(const SqliteLibrary& library, std::vector<std::string>& notes, std::string rebuild_because) const;
  Result<Opened> open_to_read(const SqliteLibrary& library, IndexLock lock, std::vector<std::string>& notes,
                              std::string why) const;
  Result<std::string> update(const SqliteLibrary& library, const IndexLock& lock, std::vector<std::string>& notes,
                             const CancelToken& cancel) const;
  Result<void> build(const SqliteLibrary& library, const IndexLock& lock, std::vector<std::string>& notes,
                     const CancelToken& cancel) const;

  const IndexFiles files_;
  const Store& store_;
  const Clock& clock_;
  Log& log_;
  const Milliseconds wait_;
};

// Removes the index of the directory, if there is one, so that no text of a removed conversation stays in its bytes;
// the next search builds it again. kBusy: another process is using it.
Result<void> forget_search_index(const std::string& directory, const Clock& clock);

}  // namespace agentd
