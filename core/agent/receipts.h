// SPDX-License-Identifier: Apache-2.0
#pragma once
// receipts.h - from what hooks answered to receipts, and from receipts back to what hooks were
// asked.
//
// Threading: pure functions over a thread-safe store.

#include <span>
#include <string>

#include "core/base/ids.h"
#include "core/base/result.h"
#include "core/conversation/receipt.h"
#include "core/hooks/action.h"
#include "core/store/store.h"

namespace agentd {

// Which texts of an answer a receipt has; of the others only digest and length.
enum class AnswerTexts : std::uint8_t {
  kAll,      // but for a rewritten text that is no tool's input: a later hook may have taken something out of it
  kSaid,     // not what is to be said next, which the hooks of messages see first
  kReasons,  // only why it was refused: the message that the others may repeat has been blocked
};

// The actions that a hook asked for at `event` as a compact JSON array. Long texts are cut.
std::string answer_json(std::span<const Action> actions, std::uint32_t event, AnswerTexts texts = AnswerTexts::kAll);

// The JSON that the hook of a receipt was asked with, byte for byte: the kept bytes, and the
// messages of the view at the receipt's revision where the event carries them. kNotFound: the bytes
// were not kept. kCorrupt, as Store::read.
Result<std::string> rebuild_payload(const Store& store, const Ulid& conversation, const HookReceipt& receipt);

}  // namespace agentd
