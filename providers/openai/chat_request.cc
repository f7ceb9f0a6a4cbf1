// SPDX-License-Identifier: Apache-2.0
#include "providers/openai/chat_request.h"

#include <algorithm>
#include <cctype>
#include <string>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/hash.h"
#include "providers/common/wire.h"
#include "providers/openai/answer_schema.h"

namespace agentd {
namespace {

// Replaces a required text that is missing.
constexpr std::string_view kNoChatText = "(no text)";

// OpenAI's longest call id, which other servers copy.
constexpr std::size_t kChatCallIdMax = 40;

// Some servers accept only one form of ids.
std::string form_of(std::string_view id, std::size_t bytes) {
  if (bytes == 0) return wire_call_id(id, kChatCallIdMax);
  const bool fits = id.size() == bytes && std::all_of(id.begin(), id.end(), [](char c) {
                      return std::isalnum(static_cast<unsigned char>(c)) != 0;
                    });
  return fits ? std::string(id) : hex(sha256(id)).substr(0, bytes);
}

bool is_thought(const agentd_block& block) {
  return block.kind == AGENTD_BLOCK_THINKING && !is_blank(full_text(block));
}

// The text of a result and of its parts.
std::string text_of_result(const agentd_block& block) {
  std::string out(is_blank(full_text(block)) ? std::string_view() : full_text(block));
  for (const agentd_block& part : part_span(block))
    if (is_text(part)) out.append(out.empty() ? "" : "\n\n").append(full_text(part));
  return out.empty() ? std::string(kNoChatText) : out;
}

class ChatWriter {
 public:
  ChatWriter(JsonWriter& out, const ModelRequest& request, const ChatDialect& dialect, std::string_view provider)
      : out_(out),
        request_(request),
        dialect_(dialect),
        provider_(provider),
        ids_(request.messages, [&](std::string_view id) { return form_of(id, dialect.call_id_bytes); }) {}

  Result<void> write() {
    const std::string_view closing = is_blank(request_.closing_text) ? std::string_view() : request_.closing_text;
    // Thinking alone does not need a message.
    const auto groups = group_rows(request_.messages, is_said);
    if (groups.empty() && closing.empty() && request_.messages.empty())
      return Error{Code::kInvalid, "the request has no message to send"};
    out_.begin_object().member("model", request_.model).member("stream", true);
    if (dialect_.usage_on_request) out_.key("stream_options").begin_object().member("include_usage", true).end_object();
    const Thinking& thinking = request_.thinking;
    out_.member(dialect_.output_limit, std::max<std::uint64_t>(request_.max_output_tokens, 1) + thinking.room);
    if (const std::string& effort = thinking.mode == Thinking::Mode::kOff ? thinking.off : thinking.effort;
        dialect_.effort && !effort.empty())
      out_.member("reasoning_effort", effort);
    if (!request_.output_schema.empty()) {
      out_.key("response_format").begin_object().member("type", "json_schema");
      out_.key("json_schema").begin_object();
      write_answer_schema(out_, request_.output_schema);
      out_.end_object().end_object();
    }
    AGENTD_TRY_VOID(write_tools());
    write_messages(groups, closing);
    out_.end_object();
    return {};
  }

 private:
  Result<void> write_tools() {
    if (request_.tools.empty()) return {};
    out_.key("tools").begin_array();
    for (const ToolSpec& tool : request_.tools) {
      AGENTD_TRY(const std::string schema, wire_schema(tool, SchemaForm::kProperties));
      out_.begin_object().member("type", "function").key("function").begin_object();
      out_.member("name", tool.name).optional("description", tool.description).key("parameters");
      out_.raw(schema);
      out_.end_object().end_object();
    }
    out_.end_array();
    if (!request_.may_call_tools) out_.member("tool_choice", "none");
    return {};
  }

  void write_messages(const std::vector<WireGroup>& groups, std::string_view closing) {
    out_.key("messages").begin_array();
    if (!is_blank(request_.system)) write_plain("system", request_.system);
    // The first message must be the user's: templates of models behind the servers refuse others.
    if (!groups.empty() && groups.front().assistant) write_plain("user", kNoChatText);
    for (std::size_t i = 0; i < groups.size(); ++i) {
      const bool last = i + 1 == groups.size();
      if (groups[i].assistant)
        write_assistant(groups[i]);
      else
        write_user(groups[i], last ? closing : std::string_view());
    }
    if (groups.empty() || groups.back().assistant) write_plain("user", closing.empty() ? kNoChatText : closing);
    out_.end_array();
  }

  static bool has_results(const WireGroup& group) {
    return std::any_of(group.rows.begin(), group.rows.end(), [](const agentd_message* row) {
      const auto blocks = block_span(*row);
      return std::any_of(blocks.begin(), blocks.end(), is_result);
    });
  }

  template <typename Wanted>
  static std::vector<const agentd_block*> blocks_of(const WireGroup& group, const Wanted& wanted) {
    std::vector<const agentd_block*> out;
    for (const agentd_message* row : group.rows)
      for (const agentd_block& block : block_span(*row))
        if (wanted(block)) out.push_back(&block);
    return out;
  }

  static std::string texts_of(const std::vector<const agentd_block*>& blocks) {
    std::string out;
    for (const agentd_block* each : blocks) out.append(out.empty() ? "" : "\n\n").append(full_text(*each));
    return out;
  }

  void write_plain(std::string_view role, std::string_view text) {
    out_.begin_object().member("role", role).member("content", text).end_object();
  }

  void write_assistant(const WireGroup& group) {
    const std::string text = texts_of(blocks_of(group, is_text));
    const auto calls = blocks_of(group, is_call);
    out_.begin_object().member("role", "assistant").key("content");
    if (text.empty() && !calls.empty())
      out_.null();
    else
      out_.string(text.empty() ? kNoChatText : std::string_view(text));
    if (wants_thinking_back(request_, dialect_)) out_.member(dialect_.reasoning, thoughts_of(group));
    if (!calls.empty()) {
      out_.key("tool_calls").begin_array();
      for (const agentd_block* call : calls) write_call(*call);
      out_.end_array();
    }
    out_.end_object();
  }

  // Empty for an answer of another model, whose thinking is not this one's: the member itself is what the server wants.
  std::string thoughts_of(const WireGroup& group) const {
    std::string out;
    for (const agentd_message* row : group.rows) {
      if (!is_own(*row)) continue;
      for (const agentd_block& block : block_span(*row))
        if (is_thought(block)) out.append(out.empty() ? "" : "\n\n").append(full_text(block));
    }
    return out;
  }

  bool is_own(const agentd_message& row) const {
    const Origin* const from = request_.origins == nullptr ? nullptr : request_.origins->of(row.seq);
    return from != nullptr && from->provider == provider_ && from->model == request_.model;
  }

  void write_call(const agentd_block& call) {
    const std::string_view input = view_of(call.json);
    out_.begin_object().member("id", ids_.of(call)).member("type", "function");
    out_.key("function").begin_object().member("name", wire_name(view_of(call.name)));
    out_.member("arguments", input.empty() ? std::string_view("{}") : input).end_object().end_object();
  }

  void write_user(const WireGroup& group, std::string_view closing) {
    std::vector<const agentd_block*> media;
    for (const agentd_block* result : blocks_of(group, is_result)) {
      out_.begin_object().member("role", "tool").member("tool_call_id", ids_.of(*result));
      out_.member("content", text_of_result(*result)).end_object();
      for (const agentd_block& part : part_span(*result))
        if (is_media(part)) media.push_back(&part);
    }
    for (const agentd_block* own : blocks_of(group, is_media)) media.push_back(own);
    std::string text = texts_of(blocks_of(group, is_text));
    if (!closing.empty()) text.append(text.empty() ? "" : "\n\n").append(closing);
    if (media.empty() && text.empty()) return;
    if (!dialect_.user_behind_results && has_results(group)) write_plain("assistant", kNoChatText);
    if (media.empty()) return write_plain("user", text);
    out_.begin_object().member("role", "user").key("content").begin_array();
    if (!text.empty()) out_.begin_object().member("type", "text").member("text", text).end_object();
    for (const agentd_block* one : media) write_media(*one);
    out_.end_array().end_object();
  }

  void write_media(const agentd_block& media) {
    if (media.kind == AGENTD_BLOCK_DOCUMENT) {
      out_.begin_object().member("type", "file").key("file").begin_object();
      out_.member("filename", title_of(media)).member("file_data", data_url(media));
    } else {
      out_.begin_object().member("type", "image_url").key("image_url").begin_object();
      out_.member("url", data_url(media));
    }
    out_.end_object().end_object();
  }

  JsonWriter& out_;
  const ModelRequest& request_;
  const ChatDialect& dialect_;
  const std::string_view provider_;
  const CallIds ids_;
};

}  // namespace

bool wants_thinking_back(const ModelRequest& request, const ChatDialect& dialect) {
  return !dialect.reasoning.empty() && request.thinking_back.value_or(dialect.thinking_back);
}

Result<void> write_chat_request(JsonWriter& out, const ModelRequest& request, const ChatDialect& dialect,
                                std::string_view provider) {
  return ChatWriter(out, request, dialect, provider).write();
}

}  // namespace agentd
