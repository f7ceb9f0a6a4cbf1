// SPDX-License-Identifier: Apache-2.0
#include "providers/openai/responses_answer.h"

#include <algorithm>
#include <utility>

#include "core/base/bytes.h"

namespace agentd {
namespace {

constexpr std::size_t kShownAnswerBytes = 80;

Error broken_response(std::string what) { return {Code::kCorrupt, std::move(what)}; }

// Joins the texts of a list of parts: {"type": ..., "text": ...}, {"type": "refusal", "refusal": ...}.
std::string texts_of(JsonView parts, std::string_view between) {
  std::string out;
  for (std::size_t i = 0; parts.is_array() && i < parts.size(); ++i) {
    const JsonView part = parts.at(i);
    const std::string_view text = part["text"].string_or(part["refusal"].string_or(""));
    if (text.empty()) continue;
    if (!out.empty()) out += between;
    out += to_utf8(text);
  }
  return out;
}

}  // namespace

Result<void> ResponsesAnswer::take(const SseEvent& event) {
  if (event.data.empty() || event.data == "[DONE]" || whole()) return {};
  auto document = JsonDocument::parse(event.data, JsonDocument::Halves::kKeep);
  if (!document) return broken_response("an event of the stream is broken: " + document.error().message);
  const JsonView root = document->root();
  if (!root.is_object()) return broken_response("an event of the stream is not a JSON object");
  return on_event(root["type"].string_or(event.type), root);
}

Result<void> ResponsesAnswer::on_event(std::string_view type, JsonView root) {
  if (type == "error") return on_error(root["error"].is_object() ? root["error"] : root);
  if (type == "response.failed") {
    read_usage(root["response"]["usage"]);
    return on_error(root["response"]["error"]);
  }
  if (type == "response.completed" || type == "response.incomplete") return on_end(type, root["response"]);
  if (type == "response.output_item.added") return on_item(root, false);
  if (type == "response.output_item.done") return on_item(root, true);
  const std::string_view delta = root["delta"].string_or("");
  if (type == "response.output_text.delta" || type == "response.refusal.delta") {
    AGENTD_TRY(Item * item, item_at(root));
    refused_ = refused_ || type == "response.refusal.delta";
    add_text(*item, delta);
  } else if (type == "response.reasoning_summary_text.delta" || type == "response.reasoning_text.delta") {
    AGENTD_TRY(Item * item, item_at(root));
    add_thought(*item, delta);
  } else if (type == "response.reasoning_summary_part.added") {
    AGENTD_TRY(Item * item, item_at(root));
    if (!item->thought.empty()) add_thought(*item, "\n\n");
  } else if (type == "response.function_call_arguments.delta") {
    AGENTD_TRY(Item * item, item_at(root));
    item->arguments += item->pieces.next(delta);
  }
  return {};  // other events repeat content, or are about tools that were not offered
}

Result<ResponsesAnswer::Item*> ResponsesAnswer::item_at(JsonView root) {
  const std::uint64_t index = root["output_index"].uint_or(0);
  began_ = true;
  if (items_.size() >= kItemsMax && !items_.contains(index))
    return broken_response("the answer has more than " + std::to_string(kItemsMax) + " items");
  return &items_[index];
}

ResponsesAnswer::Kind ResponsesAnswer::kind_of(std::string_view type) {
  if (type.empty()) return Kind::kNone;
  if (type == "message") return Kind::kMessage;
  if (type == "function_call") return Kind::kCall;
  return type == "reasoning" ? Kind::kReasoning : Kind::kOther;
}

Result<void> ResponsesAnswer::on_item(JsonView root, bool done) {
  const JsonView json = root["item"];
  if (!json.is_object()) return broken_response("an item of the answer is not a JSON object");
  AGENTD_TRY(Item * item, item_at(root));
  item->kind = kind_of(json["type"].string_or(""));
  if (item->kind == Kind::kCall) {
    item->call_id = to_utf8(json["call_id"].string_or(""));
    item->name = to_utf8(json["name"].string_or(""));
    if (!item->told && !item->name.empty()) {
      item->told = true;
      sink_.on_tool_call(item->call_id, item->name);
    }
  }
  if (done) read_item(*item, json);
  return {};
}

// The finished item is authoritative; earlier deltas were a preview of it. Items of servers that send no deltas are
// shown here.
void ResponsesAnswer::read_item(Item& item, JsonView json) {
  item.phase = to_utf8(json["phase"].string_or(""));
  if (item.kind == Kind::kMessage) {
    const std::string whole = texts_of(json["content"], "");
    if (item.text.empty() && !whole.empty()) sink_.on_text(whole);
    item.text = whole;
    for (std::size_t i = 0; i < json["content"].size(); ++i)
      refused_ = refused_ || json["content"].at(i)["type"].string_or("") == "refusal";
  } else if (item.kind == Kind::kCall) {
    item.arguments = to_utf8(json["arguments"].string_or(""));
  } else if (item.kind == Kind::kReasoning) {
    item.raw = to_utf8(json.text());
    const std::string summary = texts_of(json["summary"], "\n\n");
    const std::string whole = summary.empty() ? texts_of(json["content"], "\n\n") : summary;
    if (item.thought.empty() && !whole.empty()) sink_.on_thinking(whole);
    item.thought = whole;
  }
}

void ResponsesAnswer::add_text(Item& item, std::string_view piece) {
  const std::string whole = item.pieces.next(piece);
  if (whole.empty()) return;
  item.text += whole;
  sink_.on_text(whole);
}

void ResponsesAnswer::add_thought(Item& item, std::string_view piece) {
  const std::string whole = item.pieces.next(piece);
  if (whole.empty()) return;
  item.thought += whole;
  sink_.on_thinking(whole);
}

Result<void> ResponsesAnswer::on_end(std::string_view type, JsonView response) {
  read_usage(response["usage"]);
  // Some servers send the items only here.
  const JsonView output = response["output"];
  for (std::size_t i = 0; output.is_array() && i < output.size() && i < kItemsMax; ++i) {
    Item& item = items_[i];
    if (item.kind != Kind::kNone) continue;
    const JsonView json = output.at(i);
    item.kind = kind_of(json["type"].string_or(""));
    item.call_id = to_utf8(json["call_id"].string_or(""));
    item.name = to_utf8(json["name"].string_or(""));
    read_item(item, json);
  }
  reason_ = to_utf8(response["incomplete_details"]["reason"].string_or(""));
  const std::string_view said = response["status"].string_or("");
  status_ = std::string(said.empty() ? type.substr(type.find('.') + 1) : said);
  return {};
}

Result<void> ResponsesAnswer::on_error(JsonView error) {
  std::string code = to_utf8(error["code"].string_or(""));
  if (code.empty()) code = to_utf8(error["type"].string_or("error"));
  reported_ = Reported{std::move(code), to_utf8(error["message"].string_or("no explanation"))};
  return broken_response("the provider reports " + reported_->type + ": " + reported_->message);
}

void ResponsesAnswer::read_usage(JsonView usage) {
  if (!usage.is_object()) return;
  Usage out;
  const JsonView input = usage["input_tokens_details"];
  const std::uint64_t prompt = usage["input_tokens"].uint_or(0);
  out.cache_read = std::min(input["cached_tokens"].uint_or(0), prompt);
  out.cache_write = std::min(input["cache_write_tokens"].uint_or(0), prompt - out.cache_read);
  out.input = prompt - out.cache_read - out.cache_write;
  out.output = usage["output_tokens"].uint_or(0);
  out.reasoning = usage["output_tokens_details"]["reasoning_tokens"].uint_or(0);
  usage_ = out;
}

bool ResponsesAnswer::completed() const { return status_ == "completed"; }

StopReason ResponsesAnswer::stop_reason() const {
  if (completed()) return refused_ ? StopReason::kRefusal : StopReason::kEndTurn;
  if (reason_ == "max_output_tokens") return StopReason::kMaxTokens;
  if (reason_ == "content_filter") return StopReason::kRefusal;
  return StopReason::kInterrupted;
}

Result<ModelResponse> ResponsesAnswer::finish() {
  AGENTD_ASSERT(whole());
  ModelResponse response;
  response.message.role = Role::kAssistant;
  response.usage = usage_;
  response.stop_reason = stop_reason();
  bool calls = false, dropped = false;
  for (auto& [index, item] : items_) {
    if (item.kind == Kind::kReasoning) {
      Block block = Block::of_text(item.thought);
      block.kind = BlockKind::kThinking;
      block.opaque = item.raw;
      response.message.blocks.push_back(std::move(block));
    } else if (item.kind == Kind::kCall) {
      dropped = dropped || !completed();
      if (!completed()) continue;
      if (item.name.empty() || item.call_id.empty()) return broken_response("a tool call came without its name or id");
      calls = true;
      response.message.blocks.push_back(
          Block::tool_use(item.call_id, item.name, item.arguments.empty() ? "{}" : item.arguments));
    } else if (!is_blank(item.text)) {
      Block block = Block::of_text(item.text);
      if (!item.phase.empty())
        block.opaque = std::string(JsonWriter().begin_object().member("phase", item.phase).end_object().text());
      response.message.blocks.push_back(std::move(block));
    }
  }
  if (calls) response.stop_reason = StopReason::kToolUse;
  if (response.stop_reason == StopReason::kInterrupted)
    response.note = "the provider ended the answer as '" +
                    one_line(status_ + (reason_.empty() ? "" : ": " + reason_), kShownAnswerBytes) + "'" +
                    (dropped ? ": its tool calls are not run" : ": it may be incomplete");
  return response;
}

Message ResponsesAnswer::partial() const {
  Message message;
  message.role = Role::kAssistant;
  message.flags = AGENTD_MESSAGE_INTERRUPTED;
  for (const auto& [index, item] : items_)
    if (!item.text.empty()) message.blocks.push_back(Block::of_text(item.text));
  return message;
}

}  // namespace agentd
