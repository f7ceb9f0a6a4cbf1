// SPDX-License-Identifier: Apache-2.0
#include "core/agent/run/doors.h"

#include <algorithm>

#include "core/base/bytes.h"

namespace agentd {
namespace {

constexpr std::uint32_t kPutOffDoublings = 3;

}  // namespace

Result<void, RunError> CompactionDoors::before_request() {
  if (run_.compaction) return {};
  session_.threshold.check();
  CompactionRequest request;
  request.phase = session_.position.turn == 1 ? AGENTD_PHASE_PRE_REQUEST : AGENTD_PHASE_MID_TURN;
  if (auto done = queued(request.phase); !done) return done.error();
  request.strategy = session_.options.compaction_strategy;
  if (!is_due(request)) return {};
  auto done = Compaction(session_, request).attempt();
  if (!done) return done.error();
  return {};
}

bool CompactionDoors::is_due(const CompactionRequest& request) {
  const Gauge gauge = session_.context.gauge();
  if (!session_.options.auto_compact || gauge.compact_at == 0 || gauge.used < gauge.compact_at) return false;
  const bool forced = gauge.force_at != 0 && gauge.used >= gauge.force_at;
  const CompactionHistory& past = session_.conversation().compaction_history();
  // Trouble that passes is given 1, 2, 4 and then 8 answers to do so, but not the last of the room.
  if (past.put_off != 0 && !forced)
    return past.answers >= std::uint32_t{1} << std::min(past.put_off - 1, kPutOffDoublings);
  if (!forced && past.useless >= kUselessMax) {
    if (!session_.notes.told_paused) Compaction(session_, request).tell_paused();
    return false;
  }
  // Asked again only after some growth, whether hooks refused or there was nothing to win.
  const bool grown = past.tokens_at_last == 0 || gauge.used >= past.tokens_at_last + gauge.limit / 50;
  if (grown || past.stuck) return grown;
  // That the floor is too high is not changed by a window that is nearly full, but by another
  // window, fewer tools or a message that is no longer the newest.
  if (past.too_high_floor) return !Compaction(session_, request).wins_nothing();
  return forced && past.useless < 2 * kUselessMax;
}

void CompactionDoors::warn_when_full() {
  const Gauge gauge = session_.context.gauge();
  if (gauge.limit == 0 || gauge.used <= gauge.limit || run_.told_full) return;
  run_.told_full = true;
  session_.hooks.warn("the next request has about " + with_commas(gauge.used) + " tokens, but only " +
                      with_commas(gauge.limit) + " fit the window (" + with_commas(gauge.floor) +
                      " of them are the system prompt and the tools)");
}

Result<CompactionReport, RunError> CompactionDoors::after_overflow() {
  CompactionRequest request;
  request.reason = AGENTD_REASON_OVERFLOW;
  request.phase = AGENTD_PHASE_OVERFLOW;
  request.strategy = session_.options.compaction_strategy;
  request.refused_tokens = std::max<std::uint64_t>(session_.context.gauge().used, 1);
  return Compaction(session_, request).attempt();
}

Result<void, RunError> CompactionDoors::queued(std::uint32_t phase) {
  const std::vector<CompactOptions> queued = session_.shared.take_queued();
  if (queued.empty()) return {};
  // Several requests of one turn ask for the same thing: the first is done.
  const CompactOptions& options = queued.front();
  CompactionRequest request;
  request.reason = AGENTD_REASON_HOOK;
  request.phase = phase;
  request.strategy = options.strategy;
  request.keep_tokens = options.keep_tokens;
  request.max_summary_tokens = options.max_summary_tokens;
  request.model = options.model;
  request.instructions = {options.instructions};
  auto done = Compaction(session_, request).attempt();
  if (!done) return done.error();
  return {};
}

}  // namespace agentd
