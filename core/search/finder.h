// SPDX-License-Identifier: Apache-2.0
#pragma once
// finder.h - the hits of a query in an open index, each compared with the store.
//
// Threading: thread-compatible.

#include <cstdint>
#include <string>

#include "core/base/result.h"
#include "core/search/database.h"
#include "core/search/query.h"
#include "core/store/store.h"

namespace agentd {

// Matches that are ranked; of more, the ones that were indexed last.
inline constexpr std::int64_t kRankedMax = 5'000;

struct Findings {
  SearchAnswer answer;
  // The index has a text that the store does not have in that place: it is damaged, or the text was erased.
  bool differs = false;
};
// kCorrupt is the index's; an error of the store is kUnavailable.
Result<Findings> find_in(const Database& index, const Store& store, const SearchQuery& query,
                         const std::string& expression);

}  // namespace agentd
