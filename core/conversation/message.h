// SPDX-License-Identifier: Apache-2.0
#pragma once
// message.h - messages of users, models and tools, as values.
//
// A Message is about to be recorded; recorded ones are read through the rows of a view (rows.h), which have the shape
// of the plugin ABI. The numbers are those of hook_events.h.
//
// Threading: values.

#include <agentd/hook_abi.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace agentd {

enum class Role : std::uint16_t {
  kUser = AGENTD_ROLE_USER,
  kAssistant = AGENTD_ROLE_ASSISTANT,
  kSummary = AGENTD_ROLE_SUMMARY,
};

enum class BlockKind : std::uint16_t {
  kText = AGENTD_BLOCK_TEXT,
  kThinking = AGENTD_BLOCK_THINKING,
  kToolUse = AGENTD_BLOCK_TOOL_USE,
  kToolResult = AGENTD_BLOCK_TOOL_RESULT,
  kImage = AGENTD_BLOCK_IMAGE,
  kDocument = AGENTD_BLOCK_DOCUMENT,
};

enum class StopReason : std::uint32_t {
  kEndTurn = AGENTD_STOP_END_TURN,
  kToolUse = AGENTD_STOP_TOOL_USE,
  kMaxTokens = AGENTD_STOP_MAX_TOKENS,
  kSequence = AGENTD_STOP_SEQUENCE,
  kRefusal = AGENTD_STOP_REFUSAL,
  kPause = AGENTD_STOP_PAUSE,
  kContextLength = AGENTD_STOP_CONTEXT_LENGTH,
  kInterrupted = AGENTD_STOP_INTERRUPTED,
};
std::string_view name_of(StopReason reason);
// kEndTurn for an unknown name.
StopReason stop_reason_of(std::string_view name);

struct Block {
  BlockKind kind = BlockKind::kText;
  std::uint16_t flags = 0;   // AGENTD_BLOCK_ERROR, AGENTD_BLOCK_PRUNED
  std::string text;          // DOCUMENT: its title
  std::string name;          // tool name, media type
  std::string call_id;       // TOOL_USE, TOOL_RESULT
  std::string json;          // TOOL_USE: the text of a ToolInput, or its stand-in
  std::string opaque;        // signature of thinking, base64 of an image or a document; raw
  std::vector<Block> parts;  // TOOL_RESULT: images, documents

  static Block of_text(std::string text);
  static Block tool_use(std::string call_id, std::string name, std::string json);
  static Block tool_result(std::string call_id, std::string text, bool error);
  bool operator==(const Block&) const = default;
};

struct Message {
  Role role = Role::kUser;
  std::uint16_t flags = 0;  // AGENTD_MESSAGE_
  std::vector<Block> blocks;

  static Message of_text(Role role, std::string text);
  // All text blocks, joined by blank lines.
  std::string text() const;
  bool operator==(const Message&) const = default;
};

struct Usage {
  std::uint64_t input = 0;  // tokens sent and not read from a cache
  std::uint64_t output = 0;
  std::uint64_t cache_read = 0;
  std::uint64_t cache_write = 0;
  std::uint64_t reasoning = 0;
  std::uint64_t cost_nano_usd = 0;     // of the requests whose price is known
  std::uint64_t cache_write_long = 0;  // the part of cache_write that is kept for an hour or more
  std::uint64_t unpriced = 0;          // requests whose price is not known

  // All sums saturate at 2^64 - 1, because a provider may report anything.
  Usage& operator+=(const Usage& other);
  // All tokens that filled the window in one request.
  std::uint64_t prompt_tokens() const;
  // prompt_tokens() plus the answer.
  std::uint64_t total() const;
  bool operator==(const Usage&) const = default;
};
agentd_usage to_abi(const Usage& usage);

}  // namespace agentd
