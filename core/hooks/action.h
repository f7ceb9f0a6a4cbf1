// SPDX-License-Identifier: Apache-2.0
#pragma once
// action.h - an action of a hook, copied out of its memory.
//
// Threading: values.

#include <agentd/hook_abi.h>

#include <cstdint>
#include <string>
#include <vector>

#include "core/conversation/message.h"

namespace agentd {

// A part of a replacement: rows kept by sequence, or a new message.
struct ReplacePart {
  std::uint64_t first = 0, last = 0;  // both 0 for a literal
  Message literal;
  bool is_literal() const { return first == 0; }
};

struct Action {
  std::uint32_t kind = 0;        // AGENTD_ACT_
  std::uint64_t generation = 0;  // generation of the emitting call
  std::uint32_t target = 0;      // REPLACE_TEXT: AGENTD_TEXT_; SET: AGENTD_KEY_
  std::uint64_t number = 0;      // SET; COMPACT: keep_tokens
  std::uint32_t code = 0;        // COMPACT: AGENTD_STRATEGY_; PERMISSION: decision; TOOL_RESULT: is_error
  std::uint32_t remember = 0;    // PERMISSION
  std::string text;              // the text, reason, instructions, recipe name
  std::string model;             // COMPACT
  std::string json;              // CALLBACK: arguments; TOOL_RESULT: structured
  std::uint64_t base_revision = 0;
  std::vector<ReplacePart> parts;  // REPLACE_MESSAGES
  std::vector<Block> blocks;       // TOOL_RESULT
};

// "block: not the root directory".
std::string action_text(const Action& action);

}  // namespace agentd
