// SPDX-License-Identifier: Apache-2.0
#include "core/agent/session/saving.h"

#include <utility>

#include "core/agent/checkpoints.h"

namespace agentd {

std::string Saving::add(std::string_view why, std::string name) {
  if (!log_.has_genesis() || shared_.conversation().revision() == 0) return {};
  const Gauge gauge = context_.gauge();
  CheckpointRecord record;
  record.id = agent_.parts().ids.next().text();
  record.conversation_id = position_.conversation_id;
  record.name = std::move(name);
  record.why = why;
  record.revision = log_.next_seq() - 1;
  record.percent = gauge.percent();
  record.tokens = gauge.used;
  for (KeyPut& row : rows_of_checkpoint(record, options_.project_id, log_.next_seq(), agent_.parts().clock.wall_ms()))
    log_.add_key(std::move(row));
  log_.add(write_checkpoint(record));
  return record.id;
}

}  // namespace agentd
