// SPDX-License-Identifier: Apache-2.0
#pragma once
// index.h - which memories answer a query: full-text ranking over the memories of a project, in memory.
//
// Score = BM25 × confidence × decay. BM25 is the fielded form (BM25F, Robertson and Zaragoza 2009): a term counts
// most in the title, then in tags and subject, then in the content. The decay halves the part of the score above one
// half for each half-life without use; a memory that is used more has a longer one.
//
// A search may answer nothing: when the best memory shares only words with the query that say little (is_generic), or a
// small part of what the query asks for. An unwanted memory costs the reader more than a missing one.
//
// Threading: immutable after construction.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/session_memory/memory.h"

namespace session_memory {

struct Hit {
  std::size_t at = 0;  // of the memory in the list that the index was made of
  double score = 0;
};

class Index {
 public:
  // Superseded memories are not found, but keep their places.
  explicit Index(const std::vector<Memory>& memories);

  // The best first, at most `limit`; equal scores by the newer one, then by id. `now_ms` is for the decay.
  std::vector<Hit> search(std::string_view query, std::size_t limit, std::int64_t now_ms) const;

 private:
  enum Field : std::uint8_t { kTitle, kTags, kContent, kFields };
  struct Posting {
    std::uint32_t document = 0;
    std::uint16_t count[kFields] = {};
  };
  struct Document {
    double confidence = 0;
    std::int64_t created_ms = 0, used_ms = 0;
    std::uint64_t uses = 0;
    std::string id;
    bool hidden = false;
    std::uint32_t length[kFields] = {};
  };
  struct Asked;

  void add(std::uint32_t document, Field field, std::string_view text);
  void measure();
  double rarity(std::size_t documents) const;
  double weight(const Posting& posting) const;
  std::vector<Asked> asked(std::string_view query) const;

  std::map<std::string, std::vector<Posting>, std::less<>> postings_;
  std::vector<Document> documents_;
  double mean_[kFields] = {};
  std::size_t shown_ = 0;  // documents that are not hidden
};

// The factor of a memory's age: 1 when it was just made or used, never under one half.
double decay(std::int64_t last_ms, std::uint64_t uses, std::int64_t now_ms);

}  // namespace session_memory
