// SPDX-License-Identifier: Apache-2.0
#pragma once
// consolidate.h - keeps the memories of a project few and honest: what says the same becomes one, what contradicts each
// other is kept and trusted less.
//
// Only memories of the same subject are compared. Nothing is deleted here.
//
// Threading: pure functions.

#include <map>
#include <string>
#include <vector>

#include "plugins/session_memory/memory.h"

namespace session_memory {

// How alike the words of two memories are, 0 to 1.
double likeness(const Memory& a, const Memory& b);
bool has_same_subject(const Memory& a, const Memory& b);
// The same subject and polarity, and nearly the same words.
bool is_duplicate(const Memory& a, const Memory& b);
// The same subject, the other polarity, and words about the same thing.
bool contradicts(const Memory& a, const Memory& b);

// One memory of two that say the same, with the id of `kept`: the older one's time, the newer one's text, more
// confidence than either, and the sources, tags and counts of both.
Memory merged(const Memory& kept, const Memory& added);

struct Consolidated {
  std::vector<Memory> rows;                        // new or changed, each id once
  std::map<std::string, std::string> merged_into;  // ids of added memories that became a part of another
};
// Puts `added`, in their order, among the existing memories of the project. A memory whose id exists already is left
// out: it was added before. Superseded memories and sections of documents take no part.
Consolidated consolidate(const std::vector<Memory>& existing, std::vector<Memory> added);

}  // namespace session_memory
