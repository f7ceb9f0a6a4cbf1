// SPDX-License-Identifier: Apache-2.0
#pragma once
// receipt.h - what one hook answered to one event; kept beside the log, outside of its chain.
//
// The receipts of a dispatch and the log rebuild the payload that the hook was asked with: the
// bytes without messages are a blob, the messages are the view at `revision`.
//
// Threading: values and pure functions.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/base/hash.h"
#include "core/base/result.h"

namespace agentd {

struct HookReceipt {
  std::string event_id;        // ULID; the receipts of one dispatch share it
  std::string event;           // "before_tool_call"
  std::uint64_t revision = 0;  // of the conversation when the hook was asked
  std::uint32_t run = 0, turn = 0;
  std::uint32_t attempt = 1;  // 2 = gates that saw a rewritten input
  std::string hook, plugin;   // its name, the id of its plugin
  std::string kind;           // native, executable, claude, ...
  std::string bytes_digest;   // hex, of what was run; empty = unknown
  Digest payload_digest{};    // of the payload's JSON as this hook saw it, messages left out
  std::string answer = "[]";  // its actions as a JSON array
  std::string effect, note;
  std::uint64_t duration_us = 0;
  std::int64_t time_ms = 0;
  // False when the bytes are stored nowhere: they held a text that a hook rewrote or refused.
  bool payload_kept = false;
  // The bytes, for a store that is to keep them as a blob; null on what a store gives back. Shared
  // by the receipts of one dispatch.
  std::shared_ptr<const std::string> payload;
};

// One compact JSON object. What has `payload` is written as kept.
std::string write_receipt(const HookReceipt& receipt);
Result<HookReceipt> read_receipt(std::string_view json);  // kCorrupt

}  // namespace agentd
