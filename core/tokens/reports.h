// SPDX-License-Identifier: Apache-2.0
#pragma once
// reports.h - what to make of the tokens that a provider says it has read.
//
// A report is better than an estimate, if it can be true. Gateways report nothing, nonsense, or
// more than was sent, because they add instructions of their own.
//
// Threading: pure functions.

#include <cstdint>

#include "core/conversation/message.h"

namespace agentd {

// How far a report may be from the plain estimate of the request. The estimators are at most 1.63
// times off for any kind of text (docs/internals/context.md), and a learned factor stays within 0.4
// to 4.
inline constexpr std::uint64_t kFarFromEstimate = 4;

// True when the report may be about a request of `estimated` tokens to a model with that window. It
// is not when nothing was read, less than a quarter of the estimate, or more than fourfold the
// estimate and more than the window; nor when the answer alone is longer than the window.
bool can_be_true(const Usage& report, std::uint64_t estimated, std::uint64_t window);

// True when the server has read so much less than was sent that it must have left a part out: some
// servers cut a prompt that is longer than their window, and do not say so. `estimated` is corrected
// by what the model's reports have taught, if they have (`learned`).
bool is_cut(std::uint64_t reported, std::uint64_t estimated, bool learned);

// What of `reported` nothing that was sent explains: it was added on the way, and is part of every
// request. `estimated` is corrected by what the model's reports have taught, `before` what was
// unexplained until now. A rest within a quarter of the estimate, or 500 tokens, is the estimate's
// own error: it lowers `before`, and never raises it.
std::uint64_t unexplained_tokens(std::uint64_t reported, std::uint64_t estimated, std::uint64_t before);

}  // namespace agentd
