// SPDX-License-Identifier: Apache-2.0
#pragma once
// answer_effect.h - the effect of a hook's answer, in traces and receipts.
//
// Threading: pure functions.

#include <cstdint>
#include <string_view>

namespace agentd {

enum class AnswerEffect : std::uint8_t {
  kNone,
  kApplied,
  kConflict,  // another hook's exclusive action came first
  kIgnored,   // an observer's, or not allowed at the event
  kFailed,
  kBlocked,
  kSkipped,  // the hook was not called
  kShadow,   // shadow mode
  kRefused,  // by the agent, after the dispatch
};
// "none", "applied", ...
std::string_view name_of(AnswerEffect effect);
// kNone for an unknown name.
AnswerEffect effect_of(std::string_view name);

}  // namespace agentd
