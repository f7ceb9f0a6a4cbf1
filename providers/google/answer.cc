// SPDX-License-Identifier: Apache-2.0
#include "providers/google/answer.h"

#include <algorithm>
#include <utility>

#include "core/base/bytes.h"

namespace agentd {
namespace {

constexpr std::size_t kShownBytes = 80;
// The end reason of an answer that broke off inside a call; a retry may help.
constexpr std::string_view kMalformedCall = "MALFORMED_FUNCTION_CALL";

Error broken(std::string what) { return {Code::kCorrupt, std::move(what)}; }

}  // namespace

StopReason google_stop_reason(std::string_view name) {
  if (name == "STOP") return StopReason::kEndTurn;
  if (name == "MAX_TOKENS") return StopReason::kMaxTokens;
  for (const char* const refusal : {"SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII",
                                    "IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION"})
    if (name == refusal) return StopReason::kRefusal;
  return StopReason::kInterrupted;
}

Result<void> GoogleAnswer::take(const SseEvent& event) {
  if (event.data.empty()) return {};
  auto document = JsonDocument::parse(event.data);
  if (!document) return broken("an event of the stream is broken: " + document.error().message);
  const JsonView root = document->root();
  if (!root.is_object()) return broken("an event of the stream is not a JSON object");
  if (const JsonView error = root["error"]; error.exists() && !error.is_null()) {
    reported_ = Reported{to_utf8(error["status"].string_or("")), to_utf8(error["message"].string_or("no explanation"))};
    return broken("the provider reports " + reported_->type + ": " + reported_->message);
  }
  read_usage(root["usageMetadata"]);
  if (const std::string_view why = root["promptFeedback"]["blockReason"].string_or(""); !why.empty())
    block_reason_ = to_utf8(why);
  const JsonView candidates = root["candidates"];
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const JsonView candidate = candidates.at(i);
    if (candidate["index"].int_or(0) != 0) continue;  // only one answer was requested
    const JsonView parts = candidate["content"]["parts"];
    for (std::size_t p = 0; parts.is_array() && p < parts.size(); ++p) AGENTD_TRY_VOID(on_part(parts.at(p)));
    if (const std::string_view reason = candidate["finishReason"].string_or(""); !reason.empty())
      finish_reason_ = to_utf8(reason);
  }
  return {};
}

Result<void> GoogleAnswer::on_part(JsonView part) {
  if (++parts_ > kPartsMax) return broken("the answer has more than " + std::to_string(kPartsMax) + " parts");
  const std::string_view signature = part["thoughtSignature"].string_or("");
  if (part["functionCall"].is_object()) {
    on_call(part["functionCall"], signature);
  } else if (part["text"].is_string()) {
    const bool thought = part["thought"].bool_or(false);
    add_text(thought ? BlockKind::kThinking : BlockKind::kText, part["text"].string_or(""), signature);
  }
  return {};  // other parts come from tools that were not offered
}

// Pieces of one text are consecutive; the signature comes with the last one, which may be empty.
void GoogleAnswer::add_text(BlockKind kind, std::string_view text, std::string_view signature) {
  const std::string piece = to_utf8(text);
  const bool goes_on = !blocks_.empty() && blocks_.back().kind == kind && blocks_.back().opaque.empty();
  if (!goes_on) {
    if (piece.empty() && signature.empty()) return;
    Block block = Block::of_text({});
    block.kind = kind;
    blocks_.push_back(std::move(block));
  }
  blocks_.back().text += piece;
  blocks_.back().opaque = to_utf8(signature);
  if (piece.empty()) return;
  if (kind == BlockKind::kThinking)
    sink_.on_thinking(piece);
  else
    sink_.on_text(piece);
}

// Calls arrive complete. A call without an id gets one.
void GoogleAnswer::on_call(JsonView call, std::string_view signature) {
  std::string id = to_utf8(call["id"].string_or(""));
  if (id.empty()) id = "call_" + std::to_string(parts_);
  const std::string name = to_utf8(call["name"].string_or(""));
  Block block = Block::tool_use(id, name, call["args"].is_object() ? to_utf8(call["args"].text()) : "{}");
  block.opaque = to_utf8(signature);
  blocks_.push_back(std::move(block));
  sink_.on_tool_call(id, name);
}

// Totals so far: a later one replaces the earlier. The candidates' tokens exclude thoughts, the prompt's include cached
// ones.
void GoogleAnswer::read_usage(JsonView usage) {
  if (!usage.is_object()) return;
  Usage sum;
  const std::uint64_t prompt = usage["promptTokenCount"].uint_or(0) + usage["toolUsePromptTokenCount"].uint_or(0);
  sum.cache_read = std::min(usage["cachedContentTokenCount"].uint_or(0), prompt);
  sum.input = prompt - sum.cache_read;
  sum.reasoning = usage["thoughtsTokenCount"].uint_or(0);
  sum.output = usage["candidatesTokenCount"].uint_or(0) + sum.reasoning;
  usage_ = sum;
}

Result<ModelResponse> GoogleAnswer::finish() {
  AGENTD_ASSERT(whole());
  ModelResponse response;
  response.message.role = Role::kAssistant;
  response.usage = usage_;
  const bool blocked = finish_reason_.empty();
  response.stop_reason = blocked ? StopReason::kRefusal : google_stop_reason(finish_reason_);
  const bool complete = response.stop_reason == StopReason::kEndTurn;
  bool calls = false, dropped = false;
  for (Block& block : blocks_) {
    if (block.kind == BlockKind::kToolUse) {
      dropped = dropped || !complete;
      if (!complete) continue;
      if (block.name.empty()) return broken("a tool call came without a name");
      calls = true;
    } else if (is_blank(block.text) && block.opaque.empty()) {
      continue;
    }
    response.message.blocks.push_back(std::move(block));
  }
  if (calls) response.stop_reason = StopReason::kToolUse;
  if (blocked)
    response.note = "the provider blocks this prompt (" + one_line(block_reason_, kShownBytes) + ")";
  else if (response.stop_reason == StopReason::kInterrupted)
    response.note = "the provider ended the answer with '" + one_line(finish_reason_, kShownBytes) + "'" +
                    (dropped ? ": its tool calls are not run" : ": it may be incomplete");
  response.malformed_call = finish_reason_ == kMalformedCall && response.message.text().empty();
  return response;
}

Message GoogleAnswer::partial() const {
  Message message;
  message.role = Role::kAssistant;
  message.flags = AGENTD_MESSAGE_INTERRUPTED;
  for (const Block& block : blocks_)
    if (block.kind == BlockKind::kText && !block.text.empty()) message.blocks.push_back(Block::of_text(block.text));
  return message;
}

}  // namespace agentd
