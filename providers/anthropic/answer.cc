// SPDX-License-Identifier: Apache-2.0
#include "providers/anthropic/answer.h"

#include <algorithm>
#include <iterator>

#include "core/base/bytes.h"
#include "providers/anthropic/redacted.h"

namespace agentd {
namespace {

constexpr std::size_t kRefusalBytes = 500;
constexpr std::size_t kShownBytes = 80;  // of a stop reason

// Types of content blocks in the order of AnthropicAnswer::Kind; empty = unknown.
constexpr std::string_view kKinds[] = {"", "text", "thinking", "redacted_thinking", "tool_use"};

Error broken(std::string what) { return {Code::kCorrupt, std::move(what)}; }

// True if the model wrote all it wanted to. Otherwise the last tool call may be cut and still be valid JSON, such as an
// empty input.
bool finished_by_itself(StopReason reason) {
  switch (reason) {
    case StopReason::kEndTurn:
    case StopReason::kToolUse:
    case StopReason::kSequence:
    case StopReason::kPause:
      return true;
    case StopReason::kMaxTokens:
    case StopReason::kRefusal:
    case StopReason::kContextLength:
    case StopReason::kInterrupted:
      return false;
  }
  return false;
}

}  // namespace

StopReason anthropic_stop_reason(std::string_view name) {
  if (name == "end_turn") return StopReason::kEndTurn;
  if (name == "tool_use") return StopReason::kToolUse;
  if (name == "max_tokens") return StopReason::kMaxTokens;
  if (name == "stop_sequence") return StopReason::kSequence;
  if (name == "refusal") return StopReason::kRefusal;
  if (name == "pause_turn") return StopReason::kPause;
  if (name == "model_context_window_exceeded") return StopReason::kContextLength;
  return StopReason::kInterrupted;
}

Result<void> AnthropicAnswer::take(const SseEvent& event) {
  if (event.data.empty() || event.type == "ping") return {};
  auto document = JsonDocument::parse(event.data, JsonDocument::Halves::kKeep);
  if (!document) return broken("an event of the stream is broken: " + document.error().message);
  const JsonView root = document->root();
  const std::string_view type = root["type"].string_or(event.type);
  if (type == "error") return on_error(root["error"]);
  if (whole_) return {};
  if (type == "message_start") return on_message_start(root["message"]);
  if (type == "content_block_start") return on_block_start(root);
  if (type == "content_block_delta") return on_delta(root);
  if (type == "content_block_stop") return on_block_stop(root);
  if (type == "message_delta") on_message_delta(root);
  if (type == "message_stop") {
    if (stop_reason_.empty()) return broken("the answer ended without a stop reason");
    whole_ = true;
  }
  return {};
}

Result<void> AnthropicAnswer::on_message_start(JsonView message) {
  if (began_) return broken("the stream contains a second message_start");
  began_ = true;
  read_usage(message["usage"]);
  return {};
}

Result<void> AnthropicAnswer::on_error(JsonView error) {
  reported_ = Reported{to_utf8(error["type"].string_or("error")), to_utf8(error["message"].string_or(""))};
  return broken("the provider reports " + reported_->type + ": " + reported_->message);
}

AnthropicAnswer::Part* AnthropicAnswer::find(JsonView event) {
  const std::int64_t index = event["index"].int_or(-1);
  const auto found =
      std::find_if(parts_.rbegin(), parts_.rend(), [&](const Part& part) { return part.index == index; });
  return found == parts_.rend() ? nullptr : &*found;
}

AnthropicAnswer::Kind AnthropicAnswer::kind_of(std::string_view type) {
  const auto* const found = std::find(std::begin(kKinds), std::end(kKinds), type);
  return found == std::end(kKinds) ? Kind::kUnknown : static_cast<Kind>(found - std::begin(kKinds));
}

std::string_view AnthropicAnswer::name_of(Kind kind) { return kKinds[static_cast<std::size_t>(kind)]; }

Result<void> AnthropicAnswer::on_block_start(JsonView event) {
  if (!began_) return broken("a content block came before message_start");
  if (parts_.size() >= kBlocksMax)
    return broken("the answer has more than " + std::to_string(kBlocksMax) + " content blocks");
  if (find(event) != nullptr || event["index"].int_or(-1) < 0)
    return broken("a content block began with a wrong or used index");
  const JsonView start = event["content_block"];
  Part part;
  part.index = event["index"].int_or(-1);
  part.kind = kind_of(start["type"].string_or(""));
  Block& block = part.block;
  if (part.kind == Kind::kText) {
    add(part, part.pieces.next(start["text"].string_or("")));
  } else if (part.kind == Kind::kThinking) {
    block.kind = BlockKind::kThinking;
    block.opaque = to_utf8(start["signature"].string_or(""));
    add(part, part.pieces.next(start["thinking"].string_or("")));
  } else if (part.kind == Kind::kRedacted) {
    block.kind = BlockKind::kThinking;
    block.name = std::string(kRedactedThinking);
    block.opaque = to_utf8(start["data"].string_or(""));
  } else if (part.kind == Kind::kToolUse) {
    block = Block::tool_use(to_utf8(start["id"].string_or("")), to_utf8(start["name"].string_or("")), {});
    if (block.call_id.empty() || block.name.empty()) return broken("a tool call came without an id or a name");
    // Deltas add the input; a server that sends it at once puts it here.
    if (start["input"].size() != 0) block.json = to_utf8(start["input"].text());
    sink_.on_tool_call(block.call_id, block.name);
  }
  parts_.push_back(std::move(part));
  return {};
}

Result<void> AnthropicAnswer::on_delta(JsonView event) {
  Part* const part = find(event);
  if (part == nullptr || !part->open) return broken("a delta does not belong to an open content block");
  const JsonView delta = event["delta"];
  return part->kind != Kind::kUnknown ? apply_delta(*part, delta["type"].string_or(""), delta) : Result<void>();
}

Result<void> AnthropicAnswer::apply_delta(Part& part, std::string_view type, JsonView delta) {
  if (type == "text_delta" && part.kind == Kind::kText) {
    add(part, part.pieces.next(delta["text"].string_or("")));
  } else if (type == "thinking_delta" && part.kind == Kind::kThinking) {
    add(part, part.pieces.next(delta["thinking"].string_or("")));
  } else if (type == "signature_delta" && part.kind == Kind::kThinking) {
    part.block.opaque += to_utf8(delta["signature"].string_or(""));
  } else if (type == "input_json_delta" && part.kind == Kind::kToolUse) {
    add(part, part.pieces.next(delta["partial_json"].string_or("")));
  } else if (type == "text_delta" || type == "thinking_delta" || type == "signature_delta" ||
             type == "input_json_delta") {
    return broken("a " + std::string(type) + " came for a " + std::string(name_of(part.kind)) + " block");
  }
  return {};
}

void AnthropicAnswer::add(Part& part, const std::string& text) {
  if (text.empty()) return;
  (part.kind == Kind::kToolUse ? part.block.json : part.block.text) += text;
  if (part.kind == Kind::kText) sink_.on_text(text);
  if (part.kind == Kind::kThinking) sink_.on_thinking(text);
}

Result<void> AnthropicAnswer::on_block_stop(JsonView event) {
  Part* const part = find(event);
  if (part == nullptr || !part->open) return broken("a content block ended without being open");
  part->open = false;
  add(*part, part->pieces.end());
  return {};
}

void AnthropicAnswer::on_message_delta(JsonView event) {
  const std::string_view reason = event["delta"]["stop_reason"].string_or("");
  if (!reason.empty()) stop_reason_ = std::string(reason);
  const JsonView details = event["delta"]["stop_details"];
  if (const std::string_view why = details["category"].string_or(""); !why.empty()) refusal_ = std::string(why);
  if (const std::string_view why = details["explanation"].string_or(""); !why.empty())
    refusal_ += (refusal_.empty() ? "" : ": ") + std::string(why);
  read_usage(event["usage"]);
}

// Numbers are totals so far: a later one replaces the earlier, a missing or null one does not.
void AnthropicAnswer::read_usage(JsonView usage) {
  if (!usage.is_object()) return;
  Usage sum = usage_.value_or(Usage{});
  sum.input = usage["input_tokens"].uint_or(sum.input);
  sum.output = usage["output_tokens"].uint_or(sum.output);
  sum.cache_read = usage["cache_read_input_tokens"].uint_or(sum.cache_read);
  sum.cache_write = usage["cache_creation_input_tokens"].uint_or(sum.cache_write);
  split_said_ = split_said_ || usage["cache_creation"].is_object();
  sum.cache_write_long = usage["cache_creation"]["ephemeral_1h_input_tokens"].uint_or(sum.cache_write_long);
  if (long_cache_ && !split_said_) sum.cache_write_long = sum.cache_write;
  sum.reasoning = usage["output_tokens_details"]["thinking_tokens"].uint_or(sum.reasoning);
  usage_ = sum;
}

Result<ModelResponse> AnthropicAnswer::finish() {
  AGENTD_ASSERT(whole_);
  ModelResponse response;
  response.message.role = Role::kAssistant;
  response.stop_reason = anthropic_stop_reason(stop_reason_);
  response.usage = usage_;
  const bool complete = finished_by_itself(response.stop_reason);
  bool calls = false, dropped = false;
  for (const Part& part : parts_)
    if (complete && part.kind != Kind::kUnknown && part.open && part.block.kind == BlockKind::kToolUse)
      return broken("the answer ended inside a tool call");
  for (Part& part : parts_) {
    if (part.kind == Kind::kUnknown) continue;
    if (part.block.kind == BlockKind::kToolUse) {
      dropped = dropped || !complete;
      if (!complete) continue;
      if (part.block.json.empty()) part.block.json = "{}";
      calls = true;
    }
    add(part, part.pieces.end());
    // Models write blank texts before calls, but refuse to read them.
    if (part.kind == Kind::kText && is_blank(part.block.text)) continue;
    response.message.blocks.push_back(std::move(part.block));
  }
  if (response.stop_reason == StopReason::kInterrupted)
    response.note = "the provider ended the answer for an unknown reason, '" + one_line(stop_reason_, kShownBytes) +
                    "'" + (dropped ? ": its tool calls are not run" : ": it may be incomplete");
  if (response.stop_reason == StopReason::kRefusal && !refusal_.empty())
    response.note = "the provider gives a reason for the refusal: " + one_line(refusal_, kRefusalBytes);
  // Some servers with this format send end_turn with a call.
  if (calls && response.stop_reason == StopReason::kEndTurn) response.stop_reason = StopReason::kToolUse;
  return response;
}

Message AnthropicAnswer::partial() const {
  Message message;
  message.role = Role::kAssistant;
  message.flags = AGENTD_MESSAGE_INTERRUPTED;
  for (const Part& part : parts_) {
    const bool empty = part.block.text.empty() && part.block.opaque.empty();
    if (part.kind != Kind::kUnknown && part.block.kind != BlockKind::kToolUse && !empty)
      message.blocks.push_back(part.block);
  }
  return message;
}

}  // namespace agentd
