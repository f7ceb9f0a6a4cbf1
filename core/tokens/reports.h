// SPDX-License-Identifier: Apache-2.0
#pragma once
// reports.h - checks the token counts that providers report.
//
// A report is better than an estimate if it can be true. Gateways report nothing, nonsense, or more than was sent,
// because they add instructions of their own.
//
// Threading: pure functions.

#include <cstdint>

#include "core/conversation/message.h"

namespace agentd {

// How far a report may be from the plain estimate of the request. The estimators are at most 1.63 times off for any
// kind of text (docs/internals/context.md), and a learned factor stays within 0.4 to 4.
inline constexpr std::uint64_t kFarFromEstimate = 4;

// True if the report may be about a request of `estimated` tokens to a model with that window. False when it reports no
// tokens read, less than a quarter of the estimate, more than both the fourfold estimate and the window, or an answer
// longer than the window.
bool can_be_true(const Usage& report, std::uint64_t estimated, std::uint64_t window);

// True if the server read so much less than was sent that it must have dropped a part: some servers silently cut a
// prompt that exceeds their window. `estimated` is corrected by the model's factor if one was learned (`learned`).
bool is_cut(std::uint64_t reported, std::uint64_t estimated, bool learned);

// The part of `reported` that nothing sent explains: it is added on the way, to every request. `estimated` is corrected
// by the model's factor; `before` is the previous result. A rest within a quarter of the estimate, or 500 tokens, is
// the estimate's own error: it lowers `before`, and never raises it.
std::uint64_t unexplained_tokens(std::uint64_t reported, std::uint64_t estimated, std::uint64_t before);

}  // namespace agentd
