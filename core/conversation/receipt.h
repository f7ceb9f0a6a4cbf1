// SPDX-License-Identifier: Apache-2.0
#pragma once
// receipt.h - one hook's answer to one event; kept beside the log, outside its chain.
//
// The receipts of a dispatch and the log together rebuild the payload of the call: the bytes without messages are a
// blob, the messages are the view at `revision`.
//
// Threading: values and pure functions.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/base/hash.h"
#include "core/base/result.h"
#include "core/conversation/answer_effect.h"

namespace agentd {

struct HookReceipt {
  std::string event_id;        // ULID, shared by the receipts of one dispatch
  std::string event;           // "before_tool_call"
  std::uint64_t revision = 0;  // of the conversation when the hook was called
  std::uint32_t run = 0, turn = 0;
  std::uint32_t attempt = 1;  // 2 = gates that see the final input: a rewritten one, or one that a person has allowed
  std::string hook, plugin;   // its name, the id of its plugin
  std::string kind;           // native, executable, claude, ...
  std::string bytes_digest;   // hex, of the code that ran; empty = unknown
  Digest payload_digest{};    // of the payload's JSON for this hook, without messages
  std::string answer = "[]";  // its actions as a JSON array
  AnswerEffect effect = AnswerEffect::kNone;
  std::string note;
  std::uint64_t duration_us = 0;
  std::int64_t time_ms = 0;
  // False when the bytes are not stored: a hook rewrote or refused a text in them.
  bool payload_kept = false;
  // The bytes, for a store that will keep them as a blob; null in a receipt from a store. Shared by the receipts of one
  // dispatch.
  std::shared_ptr<const std::string> payload;
};

// One compact JSON object. A receipt with `payload` is written as kept.
std::string write_receipt(const HookReceipt& receipt);
Result<HookReceipt> read_receipt(std::string_view json);  // kCorrupt

}  // namespace agentd
