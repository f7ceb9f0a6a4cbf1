// SPDX-License-Identifier: Apache-2.0
#include "providers/openai/responses_request.h"

#include <algorithm>
#include <string>
#include <vector>

#include "core/base/bytes.h"
#include "providers/common/wire.h"
#include "providers/openai/answer_schema.h"

namespace agentd {
namespace {

// The provider's smallest limit.
constexpr std::uint64_t kOutputTokensMin = 16;
// Replaces a required text that is missing.
constexpr std::string_view kNoText = "(no text)";

// The provider's longest call id.
constexpr std::size_t kResponsesCallIdMax = 64;

class ResponsesWriter {
 public:
  ResponsesWriter(JsonWriter& out, const ModelRequest& request, std::string_view provider, const ReasoningFilter& keeps)
      : out_(out),
        request_(request),
        provider_(provider),
        keeps_(keeps),
        ids_(request.messages, [](std::string_view id) { return wire_call_id(id, kResponsesCallIdMax); }) {}

  Result<void> write() {
    const std::string_view closing = is_blank(request_.closing_text) ? std::string_view() : request_.closing_text;
    if (request_.messages.empty() && closing.empty())
      return Error{Code::kInvalid, "the request has no message to send"};
    out_.begin_object().member("model", request_.model).member("stream", true).member("store", false);
    if (!is_blank(request_.system)) out_.member("instructions", request_.system);
    const Thinking& thinking = request_.thinking;
    out_.member("max_output_tokens", std::max(request_.max_output_tokens, kOutputTokensMin) + thinking.room);
    write_reasoning(thinking);
    if (!request_.output_schema.empty()) {
      out_.key("text").begin_object().key("format").begin_object().member("type", "json_schema");
      write_answer_schema(out_, request_.output_schema);
      out_.end_object().end_object();
    }
    // Requests of one conversation begin alike; the key routes them to the same cache.
    out_.optional("prompt_cache_key", request_.conversation_id);
    AGENTD_TRY_VOID(write_tools());
    write_input(closing);
    out_.end_object();
    return {};
  }

 private:
  void write_reasoning(const Thinking& thinking) {
    switch (thinking.mode) {
      case Thinking::Mode::kUnsaid:
      case Thinking::Mode::kBudget:
        return;
      case Thinking::Mode::kOff:
        out_.key("reasoning").begin_object().member("effort", thinking.off).end_object();
        break;
      case Thinking::Mode::kAdaptive:
        out_.key("reasoning").begin_object().optional("effort", thinking.effort);
        out_.member("summary", "auto").end_object();
        break;
    }
    out_.key("include").begin_array().string("reasoning.encrypted_content").end_array();
  }

  Result<void> write_tools() {
    if (request_.tools.empty()) return {};
    out_.key("tools").begin_array();
    for (const ToolSpec& tool : request_.tools) {
      AGENTD_TRY(const std::string schema, wire_schema(tool, SchemaForm::kProperties));
      out_.begin_object().member("type", "function").member("name", tool.name);
      out_.optional("description", tool.description).key("parameters");
      out_.raw(schema);
      // If it is missing, the provider shows the model a different schema where it can.
      out_.member("strict", false).end_object();
    }
    out_.end_array();
    if (!request_.may_call_tools) out_.member("tool_choice", "none");
    return {};
  }

  void write_input(std::string_view closing) {
    const auto groups = group_rows(request_.messages, is_said);
    out_.key("input").begin_array();
    for (std::size_t i = 0; i < groups.size(); ++i) {
      if (groups[i].assistant) {
        for (const agentd_message* row : groups[i].rows) write_answer(*row);
      } else {
        write_user(groups[i], i + 1 == groups.size() ? closing : std::string_view());
      }
    }
    if (groups.empty() || groups.back().assistant) write_user_text(closing.empty() ? kNoText : closing);
    out_.end_array();
  }

  // Items in their original order.
  void write_answer(const agentd_message& row) {
    const auto blocks = block_span(row);
    const bool reads = is_own(row);
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      const agentd_block& block = blocks[i];
      if (block.kind == AGENTD_BLOCK_THINKING) {
        if (reads && is_followed(blocks, i)) write_reasoning_item(view_of(block.opaque));
      } else if (is_text(block)) {
        out_.begin_object().member("type", "message").member("role", "assistant");
        out_.member("content", full_text(block));
        if (reads) out_.optional("phase", phase_of(view_of(block.opaque)));
        out_.end_object();
      } else if (is_call(block)) {
        write_call(block);
      }
    }
  }

  // No model accepts another's seals.
  bool is_own(const agentd_message& row) const {
    const Origin* const from = request_.origins == nullptr ? nullptr : request_.origins->of(row.seq);
    return from != nullptr && from->provider == provider_ && from->api == kResponsesApi &&
           from->model == request_.model;
  }

  // Reasoning without its following item is refused.
  static bool is_followed(std::span<const agentd_block> blocks, std::size_t at) {
    return std::any_of(blocks.begin() + static_cast<std::ptrdiff_t>(at) + 1, blocks.end(),
                       [](const agentd_block& block) { return is_text(block) || is_call(block); });
  }

  void write_reasoning_item(std::string_view item) {
    if (item.empty() || (keeps_ && !keeps_(item))) return;
    const auto document = JsonDocument::parse(item);
    if (document && document->root()["type"].string_or("") == "reasoning") out_.raw(item);
  }

  static std::string phase_of(std::string_view opaque) {
    if (opaque.empty()) return {};
    const auto document = JsonDocument::parse(opaque);
    return document ? std::string(document->root()["phase"].string_or("")) : std::string();
  }

  void write_call(const agentd_block& call) {
    const std::string_view input = view_of(call.json);
    out_.begin_object().member("type", "function_call").member("call_id", ids_.of(call));
    out_.member("name", wire_name(view_of(call.name)));
    out_.member("arguments", input.empty() ? std::string_view("{}") : input).end_object();
  }

  void write_user(const WireGroup& group, std::string_view closing) {
    // Results directly follow the calls.
    for (const agentd_message* row : group.rows)
      for (const agentd_block& block : block_span(*row))
        if (is_result(block)) write_result(block);
    bool open = false;
    const auto begin = [&] {
      if (!open) begin_user();
      open = true;
    };
    for (const agentd_message* row : group.rows)
      for (const agentd_block& block : block_span(*row)) {
        if (!is_text(block) && !is_media(block)) continue;
        begin();
        write_part(block);
      }
    if (!closing.empty()) {
      begin();
      write_text_part(closing);
    }
    if (open) out_.end_array().end_object();
  }

  void begin_user() {
    out_.begin_object().member("type", "message").member("role", "user").key("content").begin_array();
  }

  void write_user_text(std::string_view text) {
    begin_user();
    write_text_part(text);
    out_.end_array().end_object();
  }

  void write_result(const agentd_block& result) {
    out_.begin_object().member("type", "function_call_output").member("call_id", ids_.of(result));
    const auto parts = part_span(result);
    const bool blank = is_blank(full_text(result));
    const bool plain = std::none_of(parts.begin(), parts.end(),
                                    [](const agentd_block& part) { return is_text(part) || is_media(part); });
    if (plain) {
      out_.member("output", blank ? kNoText : full_text(result)).end_object();
      return;
    }
    out_.key("output").begin_array();
    if (!blank) write_text_part(full_text(result));
    for (const agentd_block& part : parts)
      if (is_text(part) || is_media(part)) write_part(part);
    out_.end_array().end_object();
  }

  void write_part(const agentd_block& block) {
    if (is_text(block)) return write_text_part(full_text(block));
    if (block.kind == AGENTD_BLOCK_DOCUMENT) {
      out_.begin_object().member("type", "input_file").member("filename", title_of(block));
      out_.member("file_data", data_url(block)).end_object();
      return;
    }
    out_.begin_object().member("type", "input_image").member("detail", "auto");
    out_.member("image_url", data_url(block)).end_object();
  }

  void write_text_part(std::string_view text) {
    out_.begin_object().member("type", "input_text").member("text", text).end_object();
  }

  JsonWriter& out_;
  const ModelRequest& request_;
  const std::string_view provider_;
  const ReasoningFilter& keeps_;
  const CallIds ids_;
};

}  // namespace

Result<void> write_responses_request(JsonWriter& out, const ModelRequest& request, std::string_view provider,
                                     const ReasoningFilter& keeps) {
  return ResponsesWriter(out, request, provider, keeps).write();
}

}  // namespace agentd
