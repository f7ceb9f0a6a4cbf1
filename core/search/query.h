// SPDX-License-Identifier: Apache-2.0
#pragma once
// query.h - a query of the full-text search, and its answer.
//
// Threading: values.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/conversation/info.h"
#include "core/search/snippet.h"

namespace agentd {

struct SearchQuery {
  std::string text;                         // words that must all occur in one message, and "phrases"
  std::string project_id;                   // empty = all
  std::int64_t since_ms = 0, until_ms = 0;  // of messages, [since, until); 0 = open
  std::uint32_t limit = 10;                 // conversations
  std::uint32_t hits_each = 3;              // at most, of one conversation
  std::size_t columns = 160;                // of a snippet
};

struct SearchHit {
  std::uint64_t seq = 0;  // 0 = the title
  std::int64_t time_ms = 0;
  std::string role;  // user, assistant, summary, tool, title
  Snippet snippet;
};
struct SearchedConversation {
  ConversationInfo info;
  std::vector<SearchHit> hits;  // best first; the title alone if nothing else was found
  std::uint64_t more_hits = 0;  // of the index
};
struct SearchAnswer {
  std::vector<SearchedConversation> found;  // by their best hits (BM25); of equal ones the newer first
  bool more = false;                        // there are more conversations than the limit
  std::vector<std::string> notes;           // for the person: why something may be missing
};

}  // namespace agentd
