// SPDX-License-Identifier: Apache-2.0
#include "providers/openai/chat_answer.h"

#include <algorithm>
#include <utility>

#include "core/base/bytes.h"

namespace agentd {
namespace {

constexpr std::size_t kShownReasonBytes = 80;  // of a finish reason
constexpr std::string_view kDone = "[DONE]";

Error broken_chat(std::string what) { return {Code::kCorrupt, std::move(what)}; }

// True if the model wrote all it wanted to.
bool finished_by_itself(StopReason reason) {
  return reason == StopReason::kEndTurn || reason == StopReason::kToolUse || reason == StopReason::kSequence;
}

}  // namespace

StopReason chat_stop_reason(std::string_view name) {
  if (name == "stop" || name == "end_turn" || name == "eos") return StopReason::kEndTurn;
  if (name == "tool_calls" || name == "function_call") return StopReason::kToolUse;
  if (name == "length" || name == "max_tokens") return StopReason::kMaxTokens;
  if (name == "content_filter" || name == "refusal") return StopReason::kRefusal;
  if (name == "model_length") return StopReason::kContextLength;
  return StopReason::kInterrupted;
}

Result<void> ChatAnswer::take(const SseEvent& event) {
  if (event.data.empty()) return {};
  if (event.data == kDone) {
    done_ = true;
    return {};
  }
  if (done_) return {};
  auto document = JsonDocument::parse(event.data, JsonDocument::Halves::kKeep);
  if (!document) return broken_chat("an event of the stream is broken: " + document.error().message);
  const JsonView root = document->root();
  if (!root.is_object()) return broken_chat("an event of the stream is not a JSON object");
  if (const JsonView error = root["error"]; error.exists() && !error.is_null()) return on_error(error);
  read_usage(root["usage"]);
  const JsonView choices = root["choices"];
  for (std::size_t i = 0; i < choices.size(); ++i) {
    const JsonView choice = choices.at(i);
    if (choice["index"].int_or(0) != 0) continue;  // only one answer was requested
    AGENTD_TRY_VOID(on_delta(choice["delta"]));
    const std::string_view reason = choice["finish_reason"].string_or("");
    if (!reason.empty()) finish_reason_ = std::string(reason);
  }
  return {};
}

Result<void> ChatAnswer::on_error(JsonView error) {
  std::string code = to_utf8(error["code"].string_or(""));
  if (code.empty()) code = to_utf8(error["type"].string_or(""));
  reported_ = Reported{std::move(code), to_utf8(error["message"].string_or(error.string_or("")))};
  return broken_chat("the provider reports " + reported_->type + ": " + reported_->message);
}

Result<void> ChatAnswer::on_delta(JsonView delta) {
  if (!delta.is_object()) return {};
  began_ = true;
  for (const char* const key : {"reasoning_content", "reasoning"}) {
    const std::string_view thought = delta[key].string_or("");
    if (thought.empty()) continue;
    add_thought(thought);
    break;  // some send both
  }
  on_content(delta["content"]);
  if (const std::string_view refusal = delta["refusal"].string_or(""); !refusal.empty()) {
    refused_ = true;
    add_text(refusal);
  }
  const JsonView calls = delta["tool_calls"];
  for (std::size_t i = 0; i < calls.size(); ++i) AGENTD_TRY_VOID(on_call(calls.at(i)));
  return {};
}

// A text, or a list of parts: {"type": "text", "text"}, {"type": "thinking", "thinking": [...]}.
void ChatAnswer::on_content(JsonView content) {
  if (content.is_string()) return add_text(content.string_or(""));
  for (std::size_t i = 0; content.is_array() && i < content.size(); ++i) {
    const JsonView part = content.at(i);
    if (part["type"].string_or("") == "text") add_text(part["text"].string_or(""));
    const JsonView thoughts = part["thinking"];
    for (std::size_t t = 0; thoughts.is_array() && t < thoughts.size(); ++t)
      add_thought(thoughts.at(t)["text"].string_or(""));
  }
}

void ChatAnswer::add_text(std::string_view piece) {
  const std::string whole = text_.pieces.next(piece);
  if (whole.empty()) return;
  text_.text += whole;
  sink_.on_text(whole);
}

void ChatAnswer::add_thought(std::string_view piece) {
  const std::string whole = thought_.pieces.next(piece);
  if (whole.empty()) return;
  thought_.text += whole;
  sink_.on_thinking(whole);
}

// Finds a call by its index; without one, or with one that another call has, by its id; a piece without either
// continues the last call.
ChatAnswer::Call* ChatAnswer::call_for(JsonView piece) {
  const std::int64_t index = piece["index"].int_or(-1);
  const std::string_view id = piece["id"].string_or("");
  const auto same = [&](const Call& call) {
    if (index >= 0 && call.index != index) return false;
    return id.empty() || call.id.empty() || call.id == id;
  };
  const auto found = std::find_if(calls_.rbegin(), calls_.rend(), same);
  const bool starts = index < 0 && !piece["function"]["name"].string_or("").empty() && id.empty();
  if (found != calls_.rend() && !starts && (index >= 0 || !id.empty() || found == calls_.rbegin())) return &*found;
  if (calls_.size() >= kCallsMax) return nullptr;
  calls_.push_back({.index = index});
  return &calls_.back();
}

Result<void> ChatAnswer::on_call(JsonView piece) {
  Call* const call = call_for(piece);
  if (call == nullptr) return broken_chat("the answer has more than " + std::to_string(kCallsMax) + " tool calls");
  if (call->id.empty()) call->id = to_utf8(piece["id"].string_or(""));
  const JsonView function = piece["function"];
  // A name comes complete; some servers repeat it with each piece.
  if (call->name.empty()) call->name = to_utf8(function["name"].string_or(""));
  const JsonView arguments = function["arguments"];
  if (arguments.is_object())
    call->arguments += to_utf8(arguments.text());
  else
    call->arguments += call->pieces.next(arguments.string_or(""));
  if (!call->told && !call->name.empty()) {
    call->told = true;
    sink_.on_tool_call(call->id, call->name);
  }
  return {};
}

// Totals so far: a later one replaces the earlier.
void ChatAnswer::read_usage(JsonView usage) {
  if (!usage.is_object()) return;
  Usage sum = usage_.value_or(Usage{});
  const std::uint64_t cached =
      usage["prompt_tokens_details"]["cached_tokens"].uint_or(usage["prompt_cache_hit_tokens"].uint_or(0));
  const std::uint64_t prompt = usage["prompt_tokens"].uint_or(sum.input + sum.cache_read);
  sum.cache_read = std::min(cached, prompt);
  sum.input = prompt - sum.cache_read;
  sum.output = usage["completion_tokens"].uint_or(sum.output);
  sum.reasoning = usage["completion_tokens_details"]["reasoning_tokens"].uint_or(sum.reasoning);
  usage_ = sum;
}

void ChatAnswer::end_pieces() {
  if (const std::string end = text_.pieces.end(); !end.empty()) {
    text_.text += end;
    sink_.on_text(end);
  }
  thought_.text += thought_.pieces.end();
  for (Call& call : calls_) call.arguments += call.pieces.end();
}

Result<ModelResponse> ChatAnswer::finish() {
  AGENTD_ASSERT(whole());
  end_pieces();
  ModelResponse response;
  response.message.role = Role::kAssistant;
  response.usage = usage_;
  // [DONE] without a reason: the server considers the answer complete.
  response.stop_reason = finish_reason_.empty() ? StopReason::kEndTurn : chat_stop_reason(finish_reason_);
  if (refused_ && response.stop_reason == StopReason::kEndTurn) response.stop_reason = StopReason::kRefusal;
  const bool complete = finished_by_itself(response.stop_reason);
  if (!is_blank(thought_.text)) {
    Block block = Block::of_text(thought_.text);
    block.kind = BlockKind::kThinking;
    response.message.blocks.push_back(std::move(block));
  }
  if (!is_blank(text_.text)) response.message.blocks.push_back(Block::of_text(text_.text));
  bool dropped = false;
  for (std::size_t i = 0; i < calls_.size(); ++i) {
    Call& call = calls_[i];
    dropped = dropped || !complete;
    if (!complete) continue;
    if (call.name.empty()) return broken_chat("a tool call came without a name");
    if (call.id.empty()) call.id = "call_" + std::to_string(i);
    response.message.blocks.push_back(
        Block::tool_use(call.id, call.name, call.arguments.empty() ? "{}" : call.arguments));
  }
  if (response.stop_reason == StopReason::kInterrupted)
    response.note = "the provider ended the answer for an unknown reason, '" +
                    one_line(finish_reason_, kShownReasonBytes) + "'" +
                    (dropped ? ": its tool calls are not run" : ": it may be incomplete");
  // Some servers send stop with a call.
  if (complete && !calls_.empty()) response.stop_reason = StopReason::kToolUse;
  if (calls_.empty() && response.stop_reason == StopReason::kToolUse) response.stop_reason = StopReason::kEndTurn;
  return response;
}

Message ChatAnswer::partial() const {
  Message message;
  message.role = Role::kAssistant;
  message.flags = AGENTD_MESSAGE_INTERRUPTED;
  if (!text_.text.empty()) message.blocks.push_back(Block::of_text(text_.text));
  return message;
}

}  // namespace agentd
