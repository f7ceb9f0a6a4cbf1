// SPDX-License-Identifier: Apache-2.0
#pragma once
// record_check.h - whether a record that a stranger wrote may stand in a log.
//
// Threading: a pure function.

#include "core/base/result.h"
#include "core/conversation/record.h"

namespace agentd {

// Runs and turns beyond it are refused: the next one must have a number, too.
inline constexpr std::uint32_t kRunMax = 1'000'000'000;

// Its payload is one JSON object that agentd reads as a record of its kind, and refers to no record behind it. kInvalid
// with one sentence; for a critical kind that is not known, that a newer agentd wrote it.
Result<void> check_stranger(const StoredRecord& stored);

}  // namespace agentd
