// SPDX-License-Identifier: Apache-2.0
#include "core/agent/session/priming.h"

#include <algorithm>
#include <utility>

#include "core/agent/checkpoints.h"
#include "core/base/bytes.h"

namespace agentd {
namespace {

constexpr Milliseconds kPrimeTime{1'500};
constexpr std::uint32_t kMemories = 3;

}  // namespace

const Priming::Start& Priming::begin(std::string task, bool offers, const CancelToken& cancel) {
  start_.task = std::move(task);
  if (offers && options_.lifecycle) look_up();
  if (!is_blank(start_.task)) ask(start_.task, cancel);
  return start_;
}

std::string Priming::take(const std::string& message, const CancelToken& cancel) {
  if (std::exchange(told_, true) || position_.agent.depth != 0) return {};
  if (!is_blank(message)) ask(message, cancel);
  return quote_recollections(start_.memories);
}

void Priming::ask(const std::string& task, const CancelToken& cancel) {
  Recollections* const source = agent_.parts().recollections;
  if (source == nullptr || position_.agent.depth != 0 || std::exchange(asked_, true)) return;
  auto found = source->prime({options_.project_id, position_.conversation_id, task, kMemories}, cancel,
                             Deadline::after(agent_.parts().clock, kPrimeTime));
  if (!found) {
    agent_.parts().log.write(LogLevel::kWarning, "agent",
                             "no memories for the session: " + one_line(found.error().message, 500));
    return;
  }
  if (found->size() > kMemories) found->resize(kMemories);
  // A conversation that is continued has some of them already.
  std::erase_if(*found, [this](const Recollection& each) { return is_quoted(each.id); });
  start_.memories = std::move(*found);
}

bool Priming::is_quoted(const std::string& id) const {
  const std::string mark = "[memory " + id + "]";
  const Rows& rows = shared_.conversation().rows();
  return std::any_of(rows.begin(), rows.end(), [&](const agentd_message& row) {
    return (row.flags & AGENTD_MESSAGE_CONTEXT) != 0 && to_message(row).text().find(mark) != std::string::npos;
  });
}

void Priming::look_up() {
  const AgentParts& parts = agent_.parts();
  const auto newest =
      Checkpoints({parts.store, parts.clock, parts.ids, parts.estimator, parts.models}).offer(options_.project_id);
  if (!newest)
    return parts.log.write(LogLevel::kWarning, "agent",
                           "the newest checkpoint could not be read: " + newest.error().message);
  if (!*newest || (*newest)->record.conversation_id == position_.conversation_id) return;
  const Checkpoint& found = **newest;
  // It was taken up already.
  const auto info = parts.store.info(position_.conversation);
  if (info && info->parent == found.record.conversation_id) return;
  Recollection offer;
  offer.id = found.record.id;
  offer.title = found.record.name.empty() ? found.title : found.record.name;
  offer.text = "Conversation \"" + found.title + "\" at sequence " + std::to_string(found.record.revision) +
               (found.record.tokens == 0 ? "" : ", " + with_commas(found.record.tokens) + " tokens") +
               "; resume it with: agentd checkpoint resume " + found.record.id;
  offer.confidence_permille = 1'000;
  offer.created_ms = found.created_ms;
  start_.checkpoint = std::move(offer);
}

}  // namespace agentd
