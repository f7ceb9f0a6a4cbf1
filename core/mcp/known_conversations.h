// SPDX-License-Identifier: Apache-2.0
#pragma once
// known_conversations.h - the revisions of all conversations and a sum of each project's list, as a follower of the
// store's feed has them: what has changed costs something, what has not costs nothing.
//
// Threading: thread-compatible.

#include <cstdint>
#include <map>
#include <string>

#include "core/runtime/runtime.h"

namespace agentd::mcp {

class KnownConversations {
 public:
  // The store outlives it.
  explicit KnownConversations(const Store& store) : store_(store) {}

  // Takes up what has changed since the last call; the first one reads the index of all conversations, and no log.
  // After an error some of it was taken up, and the next call goes on.
  Result<void> catch_up();
  // 0: there is no such conversation.
  std::uint64_t revision_of(const Ulid& conversation) const;
  // Another number where the list of the project's conversations, their titles or their checkpoints are others. An
  // empty project: of all.
  std::uint64_t list_of(const std::string& project) const;

 private:
  struct Known {
    std::uint64_t revision = 0;
    std::uint64_t line = 0;                // in the list
    std::uint64_t* project_sum = nullptr;  // of its project
  };
  void forget(const Ulid& conversation);
  void take(const ConversationInfo& info);

  const Store& store_;
  std::uint64_t cursor_ = 0;  // in the feed
  std::map<Ulid, Known> known_;
  std::map<std::string, std::uint64_t> sums_;  // of the lines, by project
  std::uint64_t sum_ = 0;
};

}  // namespace agentd::mcp
