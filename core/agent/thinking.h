// SPDX-License-Identifier: Apache-2.0
#pragma once
// thinking.h - what is wished of a model's thinking, in the form that the model takes.
//
// One configuration serves every model: a wish that a model cannot be told is turned into the nearest
// one that it can, and thinking_note() words the difference.
//
// Threading: pure functions.

#include <cstdint>
#include <string>
#include <string_view>

#include "core/model/provider.h"
#include "core/tokens/tokens.h"

namespace agentd {

struct ThinkingWish {
  std::uint64_t budget_tokens = 0;  // 0 = none was named
  // low, medium, high, xhigh, max; none = as little as the model can; empty = the model's own.
  std::string effort{};
};

// For a request whose answer may take `max_output_tokens`. What thinking may take comes on top, as far
// as the model's longest output allows.
Thinking plan_thinking(const ModelInfo& model, const ThinkingWish& wish, std::uint64_t max_output_tokens);
// As little as the model can: for summaries and other internal work.
Thinking least_thinking(const ModelInfo& model, std::uint64_t max_output_tokens);

// The warning about a setting that `name` does not accept unchanged; empty = it does.
std::string thinking_note(const ModelInfo& model, std::string_view name, const ThinkingWish& wish);

}  // namespace agentd
