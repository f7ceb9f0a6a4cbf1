// SPDX-License-Identifier: Apache-2.0
#include "core/mcp/known_conversations.h"

#include <functional>

namespace agentd::mcp {
namespace {

constexpr std::uint32_t kChangesAtOnce = 1'000;

// Its part of the list of resources: the conversation, its title and its newest checkpoint.
std::uint64_t line_of(const ConversationInfo& info) {
  return std::hash<std::string>{}(info.id + '\n' + info.title + '\n' + info.checkpoint.id + '\n' +
                                  std::to_string(info.checkpoint.seq));
}

}  // namespace

Result<void> KnownConversations::catch_up() {
  for (;;) {
    AGENTD_TRY(const Store::Changes page, store_.changes(cursor_, kChangesAtOnce));
    if (page.removals_lost) {
      known_.clear();
      sums_.clear();
      sum_ = cursor_ = 0;
      continue;
    }
    for (const Ulid& each : page.removed) forget(each);
    for (const ConversationInfo& each : page.changed) take(each);
    cursor_ = page.next;
    if (page.changed.empty() && page.removed.empty()) return {};
  }
}

void KnownConversations::forget(const Ulid& conversation) {
  const auto found = known_.find(conversation);
  if (found == known_.end()) return;
  sum_ -= found->second.line;
  *found->second.project_sum -= found->second.line;
  known_.erase(found);
}

void KnownConversations::take(const ConversationInfo& info) {
  const auto id = Ulid::parse(info.id);
  if (!id) return;
  forget(*id);
  std::uint64_t& project_sum = sums_[info.project_id];
  const Known known{info.revision, line_of(info), &project_sum};
  sum_ += known.line;
  project_sum += known.line;
  known_.emplace(*id, known);
}

std::uint64_t KnownConversations::revision_of(const Ulid& conversation) const {
  const auto found = known_.find(conversation);
  return found == known_.end() ? 0 : found->second.revision;
}

std::uint64_t KnownConversations::list_of(const std::string& project) const {
  if (project.empty()) return sum_;
  const auto found = sums_.find(project);
  return found == sums_.end() ? 0 : found->second;
}

}  // namespace agentd::mcp
