// SPDX-License-Identifier: Apache-2.0
#include "core/agent/session/threshold.h"

namespace agentd {

void Threshold::check() {
  const Gauge now = context_.gauge();
  const bool above = now.checkpoint_at != 0 && now.used >= now.checkpoint_at;
  const bool crossed = above && !above_;
  above_ = above;
  if (!above) note(false);
  if (!crossed) return;
  const bool wanted = hooks_.wants(AGENTD_EVENT_CONTEXT_THRESHOLD);
  std::string checkpoint;
  if (saving_.saves())
    checkpoint = wanted ? save() : saving_.add(kThresholdCheckpoint);
  else
    note(true);
  if (!wanted) return;
  agentd_context_threshold payload{};
  payload.size = sizeof payload;
  payload.percent = now.percent();
  payload.threshold = static_cast<std::uint32_t>(options_.budget.checkpoint_at * 100 + 0.5);
  payload.checkpoint_id = to_abi(checkpoint);
  const auto outcome = hooks_.fire(AGENTD_EVENT_CONTEXT_THRESHOLD, &payload);
  if (!outcome) return;
  messages_.add_contexts(*outcome);
  const Action* const asked = outcome->exclusive_action();
  if (asked == nullptr || asked->kind != AGENTD_ACT_COMPACT) return;
  CompactOptions options;
  options.strategy = asked->code;
  options.keep_tokens = asked->number;
  options.model = asked->model;
  options.instructions = asked->text;
  (void)shared_.queue_compaction(options);
}

// A hook that asks for it by its id finds it. Where it cannot be stored, the run ends with its next commit.
std::string Threshold::save() {
  std::string id = saving_.add(kThresholdCheckpoint);
  return log_.try_commit() ? id : std::string();
}

void Threshold::note(bool above) {
  above_ = above;
  if (above == shared_.conversation().above_threshold()) return;
  if (above && !saving_.saves() && !hooks_.wants(AGENTD_EVENT_CONTEXT_THRESHOLD)) return;
  MetaRecord meta;
  meta.above_threshold = above;
  log_.add(write_meta(meta));
}

}  // namespace agentd
