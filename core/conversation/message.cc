// SPDX-License-Identifier: Apache-2.0
#include "core/conversation/message.h"

#include <array>
#include <utility>

#include "core/base/saturating.h"

namespace agentd {
namespace {

constexpr std::array<std::pair<StopReason, std::string_view>, 8> kStopReasons{{
    {StopReason::kEndTurn, "end_turn"},
    {StopReason::kToolUse, "tool_use"},
    {StopReason::kMaxTokens, "max_tokens"},
    {StopReason::kSequence, "stop_sequence"},
    {StopReason::kRefusal, "refusal"},
    {StopReason::kPause, "pause_turn"},
    {StopReason::kContextLength, "context_length"},
    {StopReason::kInterrupted, "interrupted"},
}};

}  // namespace

std::string_view name_of(StopReason reason) {
  for (const auto& [value, name] : kStopReasons)
    if (value == reason) return name;
  return "end_turn";
}

StopReason stop_reason_of(std::string_view name) {
  for (const auto& [value, known] : kStopReasons)
    if (known == name) return value;
  return StopReason::kEndTurn;
}

Block Block::of_text(std::string text) {
  Block block;
  block.text = std::move(text);
  return block;
}

Block Block::tool_use(std::string call_id, std::string name, std::string json) {
  Block block;
  block.kind = BlockKind::kToolUse;
  block.call_id = std::move(call_id);
  block.name = std::move(name);
  block.json = std::move(json);
  return block;
}

Block Block::tool_result(std::string call_id, std::string text, bool error) {
  Block block;
  block.kind = BlockKind::kToolResult;
  block.call_id = std::move(call_id);
  block.text = std::move(text);
  block.flags = error ? AGENTD_BLOCK_ERROR : 0;
  return block;
}

Message Message::of_text(Role role, std::string text) {
  Message message;
  message.role = role;
  message.blocks.push_back(Block::of_text(std::move(text)));
  return message;
}

std::string Message::text() const {
  std::string out;
  for (const Block& block : blocks) {
    if (block.kind != BlockKind::kText || block.text.empty()) continue;
    if (!out.empty()) out += "\n\n";
    out += block.text;
  }
  return out;
}

Usage& Usage::operator+=(const Usage& other) {
  input = saturating_add(input, other.input);
  output = saturating_add(output, other.output);
  cache_read = saturating_add(cache_read, other.cache_read);
  cache_write = saturating_add(cache_write, other.cache_write);
  reasoning = saturating_add(reasoning, other.reasoning);
  cost_nano_usd = saturating_add(cost_nano_usd, other.cost_nano_usd);
  cache_write_long = saturating_add(cache_write_long, other.cache_write_long);
  unpriced = saturating_add(unpriced, other.unpriced);
  return *this;
}

std::uint64_t Usage::prompt_tokens() const { return saturating_add(saturating_add(input, cache_read), cache_write); }

std::uint64_t Usage::total() const { return saturating_add(prompt_tokens(), output); }

agentd_usage to_abi(const Usage& usage) {
  return {sizeof(agentd_usage), 0, usage.input, usage.output, usage.cache_read, usage.cache_write, usage.reasoning,
          usage.cost_nano_usd};
}

}  // namespace agentd
