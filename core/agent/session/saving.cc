// SPDX-License-Identifier: Apache-2.0
#include "core/agent/session/saving.h"

#include <utility>
#include <vector>

#include "core/agent/checkpoints.h"
#include "core/base/bytes.h"

namespace agentd {

std::string Saving::add_wished(std::string_view why, CheckpointWish wish) {
  if (!log_.has_genesis() || shared_.conversation().revision() == 0) return {};
  const Gauge gauge = context_.gauge();
  CheckpointRecord record;
  record.id = wish.id.empty() ? agent_.parts().ids.next().text() : std::move(wish.id);
  record.conversation_id = position_.conversation_id;
  record.name = std::move(wish.name);
  record.why = why;
  record.revision = log_.next_seq() - 1;
  record.percent = wish.percent != 0 ? wish.percent : gauge.percent();
  record.tokens = gauge.used;
  if (!is_blank(wish.text))
    record.texts.push_back({std::string(name_of(ResumeLevel::kSummary)), std::move(wish.text), {}});
  for (KeyPut& row : rows_of_checkpoint(record, options_.project_id, log_.next_seq(), agent_.parts().clock.wall_ms()))
    log_.add_key(std::move(row));
  log_.add(write_checkpoint(record));
  return record.id;
}

void Saving::add_last() {
  const std::vector<CheckpointWish> wishes = shared_.wishes();
  for (const CheckpointWish& wish : wishes) (void)add_wished(kManualCheckpoint, wish);
  added_ = wishes.size();
}

void Saving::stored_last() { shared_.drop_wishes(std::exchange(added_, 0)); }

}  // namespace agentd
