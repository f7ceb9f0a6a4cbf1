// SPDX-License-Identifier: Apache-2.0
#include "core/agent/run/turn.h"

#include <utility>
#include <vector>

namespace agentd {

Result<TurnEnd, RunError> Turn::take() {
  if (auto done = session_.log.commit(); !done) return done.error();
  session_.surface.tell(told::TurnStarted{});
  if (session_.hooks.wants(AGENTD_EVENT_TURN_START)) {
    agentd_turn payload{};
    payload.size = sizeof payload;
    payload.turn_number = session_.position.turn;
    session_.hooks.fire(AGENTD_EVENT_TURN_START, &payload);
  }
  if (auto room = doors_.before_request(); !room) return room.error();
  if (auto runs = session_.hooks.check_stopped(); !runs) return runs.error();
  doors_.warn_when_full();
  auto answer = model_.ask();
  if (!answer) return answer.error();
  return settle(std::move(*answer));
}

// Keeps what the run has to know of its last answer. True when there is another turn behind this one.
bool Turn::goes_on(const ModelResponse& response, bool calls) {
  std::string text = response.message.text();
  run_.stop_reason = response.stop_reason;
  // The text behind a pause belongs to the same answer.
  if (run_.pauses == 0 || run_.final_text.empty())
    run_.final_text = std::move(text);
  else if (!text.empty())
    run_.final_text.append("\n\n").append(text);
  // A summary is asked for with what is not recorded: there is nothing to go on from.
  const bool paused = !calls && response.stop_reason == StopReason::kPause && !session_.messages.prompt();
  run_.pauses = paused ? run_.pauses + 1 : 0;
  return calls || (paused && run_.pauses < kPausesMax);
}

void Turn::add_answer(ModelResponse& response) {
  if (response.message.blocks.empty()) response.message.blocks.push_back(Block::of_text({}));
  if (session_.messages.prompt()) return;
  assistant_seq_ = session_.log.next_seq();
  // Moved there and back: an answer may have the memory of a file.
  MessageRecord record{std::move(response.message), response.stop_reason, {}, {}, model_.origin()};
  session_.log.add(write_message(record));
  response.message = std::move(record.message);
}

void Turn::add_usage(const Usage& usage) {
  session_.shared.count_usage(usage);
  // The tokens of a summary do not describe the view.
  if (session_.messages.prompt()) {
    session_.log.add(write_usage({usage, 0, std::string(name_of(UsagePurpose::kSummary))}));
    return;
  }
  const Context::TurnUsage counted =
      session_.context.usage_of_turn(usage, assistant_seq_, model_.model(), model_.estimate());
  if (!counted.warning.empty()) session_.hooks.warn(counted.warning);
  session_.log.add(write_usage(counted.record));
}

Result<TurnEnd, RunError> Turn::settle(ModelResponse response) {
  // No tool may be called in a summary, and its message is not recorded.
  if (session_.messages.prompt())
    std::erase_if(response.message.blocks, [](const Block& block) { return block.kind == BlockKind::kToolUse; });
  const bool calls = has_tool_calls(response.message);
  const bool more = goes_on(response, calls);
  add_answer(response);
  if (response.usage) add_usage(*response.usage);
  CallsEnd ended = CallsEnd::kDone;
  if (calls) {
    auto ran = calls_.run(response.message);
    if (!ran) return ran.error();
    ended = *ran;
  }
  return finish(response, ended, more);
}

Result<TurnEnd, RunError> Turn::finish(const ModelResponse& response, CallsEnd calls, bool more) {
  if (calls == CallsEnd::kWaiting) {
    run_.waits_for = calls_.waits_for();
    return TurnEnd::kWaiting;
  }
  end(response, !more);
  if (more)
    if (auto done = session_.log.commit(); !done) return done.error();
  if (auto runs = session_.hooks.check_stopped(); !runs) return runs.error();
  return more ? TurnEnd::kMore : TurnEnd::kLast;
}

Result<TurnEnd, RunError> Turn::resume(const OpenWait& open, const std::string& changed) {
  const Rows& rows = session_.conversation().rows();
  ModelResponse response;
  for (std::uint32_t i = rows.size(); i > 0 && assistant_seq_ == 0; --i) {
    const agentd_message& row = rows[i - 1];
    for (std::uint32_t j = 0; j < row.blocks.count; ++j)
      if (blocks_of(row)[j].kind == AGENTD_BLOCK_TOOL_USE && view_of(blocks_of(row)[j].call_id) == open.wait.call_id) {
        assistant_seq_ = row.seq;
        response.message = to_message(row);
      }
  }
  if (assistant_seq_ == 0)
    return RunError{RunError::Kind::kFailure, "the answer that asks for the call " + open.wait.call_id +
                                                  " is not in the conversation's view: send a message to go on"};
  response.stop_reason = StopReason::kToolUse;
  goes_on(response, true);
  calls_.offer(session_.context.tool_specs());
  auto ran = calls_.resume(response.message, open, changed);
  if (!ran) return ran.error();
  return finish(response, *ran, true);
}

void Turn::end(const ModelResponse& response, bool final_turn) {
  const Usage usage = response.usage.value_or(Usage{});
  if (session_.hooks.wants(AGENTD_EVENT_TURN_END)) {
    Rows rows;
    rows.append(response.message, assistant_seq_, session_.base().clock.wall_ms());
    std::vector<agentd_block> calls;
    for (std::uint32_t i = 0; i < rows[0].blocks.count; ++i)
      if (blocks_of(rows[0])[i].kind == AGENTD_BLOCK_TOOL_USE) calls.push_back(blocks_of(rows[0])[i]);
    const agentd_usage abi_usage = to_abi(usage);
    agentd_turn payload{};
    payload.size = sizeof payload;
    payload.flags = final_turn ? AGENTD_TURN_FINAL : 0;
    payload.turn_number = session_.position.turn;
    payload.stop_reason = static_cast<std::uint32_t>(response.stop_reason);
    const std::string text = response.message.text();
    payload.response = to_abi(text);
    payload.tool_calls = {calls.data(), static_cast<std::uint32_t>(calls.size()), sizeof(agentd_block)};
    payload.usage = &abi_usage;
    if (const auto outcome = session_.hooks.fire(AGENTD_EVENT_TURN_END, &payload))
      session_.messages.add_contexts(*outcome);
  }
  session_.log.tell_when_stored(told::TurnEnded{response.stop_reason, usage, session_.context.gauge()});
}

}  // namespace agentd
