// SPDX-License-Identifier: Apache-2.0
#include "providers/anthropic/request.h"

#include <algorithm>

#include "core/base/bytes.h"
#include "providers/anthropic/redacted.h"
#include "providers/common/wire.h"

namespace agentd {
namespace {

// The provider's smallest budget (docs.anthropic.com/en/docs/build-with-claude/extended-thinking).
constexpr std::uint64_t kThinkingTokensMin = 1024;

// Replaces a required user message that is missing.
constexpr std::string_view kNoText = "(no text)";

// The vendor states no length.
constexpr std::size_t kCallIdMax = 200;

bool is_thought(const agentd_block& block) { return block.kind == AGENTD_BLOCK_THINKING && block.opaque.len != 0; }
bool is_part(const agentd_block& block) { return is_text(block) || is_media(block); }

// True for braces at both ends of valid UTF-8: received JSON is not parsed again for every request.
bool looks_like_object(std::string_view json) {
  const std::size_t first = json.find_first_not_of(" \t\r\n");
  const std::size_t last = json.find_last_not_of(" \t\r\n");
  return first != std::string_view::npos && json[first] == '{' && json[last] == '}' && is_utf8(json);
}

class Writer {
 public:
  Writer(JsonWriter& out, const ModelRequest& request, AnthropicCache cache, const ThinkingFilter& keeps,
         std::string_view provider)
      : out_(out), cache_(cache), keeps_(keeps), provider_(provider), ids_(request.messages, [](std::string_view id) {
          return wire_call_id(id, kCallIdMax);
        }) {}

  Result<void> write(const ModelRequest& request) {
    const std::string_view closing = is_blank(request.closing_text) ? std::string_view() : request.closing_text;
    const std::vector<Group> groups = groups_of(request);
    if (groups.empty() && closing.empty() && request.messages.empty())
      return Error{Code::kInvalid, "the request has no message to send"};
    out_.begin_object();
    out_.member("model", request.model);
    write_limits(request, groups);
    out_.member("stream", true);
    write_system(request.system);
    AGENTD_TRY_VOID(write_tools(request.tools));
    if (!request.may_call_tools && !request.tools.empty())
      out_.key("tool_choice").begin_object().member("type", "none").end_object();
    write_messages(groups, closing);
    out_.end_object();
    return {};
  }

 private:
  void cache_mark() {
    if (cache_ == AnthropicCache::kOff) return;
    out_.key("cache_control").begin_object().member("type", "ephemeral");
    if (cache_ == AnthropicCache::kHour) out_.member("ttl", "1h");
    out_.end_object();
  }

  // One message on the wire.
  struct Group {
    bool assistant = false;
    std::vector<const agentd_block*> blocks;
  };

  static bool has_results(const Group& group) { return !group.blocks.empty() && is_result(*group.blocks.front()); }

  // True if tool results wait for an answer that does not begin with thinking: another model began it, or this one
  // without a budget. With a budget, the provider refuses to continue it.
  static bool loops_unthought(const std::vector<Group>& groups) {
    if (groups.empty() || !has_results(groups.back())) return false;
    std::size_t begin = groups.size() - 1;
    while (begin > 0 && (groups[begin].assistant || has_results(groups[begin]))) --begin;
    const auto first = std::find_if(groups.begin() + static_cast<std::ptrdiff_t>(begin), groups.end(),
                                    [](const Group& group) { return group.assistant; });
    return first != groups.end() && !is_thought(*first->blocks.front());
  }

  void write_limits(const ModelRequest& request, const std::vector<Group>& groups) {
    const Thinking& thinking = request.thinking;
    // max_tokens includes thinking.
    const std::uint64_t output = std::max<std::uint64_t>(request.max_output_tokens, 1) + thinking.room;
    out_.member("max_tokens", output);
    switch (thinking.mode) {
      case Thinking::Mode::kUnsaid:
        break;
      case Thinking::Mode::kBudget:
        if (!loops_unthought(groups)) write_budget(thinking.budget_tokens, output);
        break;
      case Thinking::Mode::kAdaptive:
        // Without this the text of the thinking stays empty.
        out_.key("thinking").begin_object().member("type", "adaptive");
        out_.member("display", "summarized").end_object();
        break;
      case Thinking::Mode::kOff:
        out_.key("thinking").begin_object().member("type", thinking.off).end_object();
        break;
    }
    if (thinking.effort.empty() && request.output_schema.empty()) return;
    out_.key("output_config").begin_object().optional("effort", thinking.effort);
    if (!request.output_schema.empty()) {
      out_.key("format").begin_object().member("type", "json_schema");
      out_.key("schema").raw(request.output_schema).end_object();
    }
    out_.end_object();
  }

  // The budget is at least the provider's minimum, and less than max_tokens; where that is impossible, the model does
  // not think.
  void write_budget(std::uint64_t budget, std::uint64_t output) {
    if (output <= kThinkingTokensMin) return;
    const std::uint64_t tokens = std::clamp(budget, kThinkingTokensMin, output - 1);
    out_.key("thinking").begin_object();
    out_.member("type", "enabled").member("budget_tokens", tokens).end_object();
  }

  void write_text(std::string_view text, bool mark) {
    out_.begin_object().member("type", "text").member("text", text);
    if (mark) cache_mark();
    out_.end_object();
  }

  void write_system(std::string_view system) {
    if (is_blank(system)) return;
    out_.key("system").begin_array();
    write_text(system, true);
    out_.end_array();
  }

  Result<void> write_tools(std::span<const ToolSpec> tools) {
    if (tools.empty()) return {};
    out_.key("tools").begin_array();
    for (const ToolSpec& tool : tools) {
      AGENTD_TRY(const std::string schema, wire_schema(tool, SchemaForm::kObject));
      out_.begin_object().member("name", tool.name).optional("description", tool.description);
      out_.key("input_schema").raw(schema);
      if (&tool == &tools.back()) cache_mark();
      out_.end_object();
    }
    out_.end_array();
    return {};
  }

  // True if the model accepts the thinking: none accepts another model's.
  bool reads(const ModelRequest& request, const agentd_message& row, const agentd_block& block) const {
    if (row.role != AGENTD_ROLE_ASSISTANT) return false;
    const Origin* const from = request.origins == nullptr ? nullptr : request.origins->of(row.seq);
    if (from != nullptr && (from->provider != provider_ || from->model != request.model)) return false;
    return !keeps_ || keeps_(view_of(block.opaque));
  }

  // Joins consecutive messages of one role, also across messages that are left out.
  std::vector<Group> groups_of(const ModelRequest& request) const {
    std::vector<Group> out;
    const auto sends = [&](const agentd_message& row, const agentd_block& block) {
      return is_said(row, block) || (is_thought(block) && reads(request, row, block));
    };
    for (const WireGroup& group : group_rows(request.messages, sends)) {
      Group one{group.assistant, {}};
      // Tool results come first in their message: the provider refuses text before them.
      for (const bool results : {true, false})
        for (const agentd_message* row : group.rows)
          for (const agentd_block& block : block_span(*row))
            if ((block.kind == AGENTD_BLOCK_TOOL_RESULT) == results && sends(*row, block)) one.blocks.push_back(&block);
      // Thinking without anything after it was cut off.
      while (!one.blocks.empty() && one.blocks.back()->kind == AGENTD_BLOCK_THINKING) one.blocks.pop_back();
      if (one.blocks.empty()) continue;
      if (out.empty() || out.back().assistant != one.assistant)
        out.push_back(std::move(one));
      else
        out.back().blocks.insert(out.back().blocks.end(), one.blocks.begin(), one.blocks.end());
    }
    return out;
  }

  // The first and the last message must be the user's.
  void write_messages(const std::vector<Group>& groups, std::string_view closing) {
    out_.key("messages").begin_array();
    if (!groups.empty() && groups.front().assistant) write_group({}, false, kNoText, false);
    for (std::size_t i = 0; i < groups.size(); ++i) {
      const bool last = i + 1 == groups.size();
      const bool joined = last && !groups[i].assistant;
      write_group(groups[i], last && closing.empty(), joined ? closing : std::string_view());
    }
    if (groups.empty() || groups.back().assistant) write_group({}, false, closing.empty() ? kNoText : closing);
    out_.end_array();
  }

  // `closing` is the last text of a user message; empty for none. At most four marks are set: on the tools, the system
  // prompt, the last block and the last text.
  void write_group(const Group& group, bool mark_last, std::string_view closing, bool mark_closing = true) {
    out_.begin_object().member("role", group.assistant ? "assistant" : "user");
    out_.key("content").begin_array();
    for (const agentd_block* block : group.blocks) write_block(*block, mark_last && block == group.blocks.back());
    if (!closing.empty()) write_text(closing, mark_closing);
    out_.end_array().end_object();
  }

  void write_block(const agentd_block& block, bool mark) {
    switch (static_cast<BlockKind>(block.kind)) {
      case BlockKind::kText:
        return write_text(full_text(block), mark);
      case BlockKind::kThinking:
        return write_thinking(block);
      case BlockKind::kToolUse:
        return write_tool_use(block, mark);
      case BlockKind::kToolResult:
        return write_tool_result(block, mark);
      case BlockKind::kImage:
      case BlockKind::kDocument:
        return write_media(block, mark);
    }
  }

  // Thinking cannot have a cache mark.
  void write_thinking(const agentd_block& block) {
    out_.begin_object();
    if (view_of(block.name) == kRedactedThinking) {
      out_.member("type", "redacted_thinking").member("data", view_of(block.opaque));
    } else {
      out_.member("type", "thinking").member("thinking", full_text(block));
      out_.member("signature", view_of(block.opaque));
    }
    out_.end_object();
  }

  void write_tool_use(const agentd_block& block, bool mark) {
    out_.begin_object().member("type", "tool_use").member("id", ids_.of(block));
    out_.member("name", wire_name(view_of(block.name))).key("input");
    const std::string_view input = view_of(block.json);
    if (input.empty() || looks_like_object(input))
      out_.raw(input.empty() ? "{}" : input);
    else  // from a log of another program; the provider accepts only objects
      out_.begin_object().member("raw", input).end_object();
    if (mark) cache_mark();
    out_.end_object();
  }

  void write_tool_result(const agentd_block& block, bool mark) {
    out_.begin_object().member("type", "tool_result").member("tool_use_id", ids_.of(block));
    const auto parts = part_span(block);
    const bool blank = is_blank(full_text(block)), error = (block.flags & AGENTD_BLOCK_ERROR) != 0;
    if (std::none_of(parts.begin(), parts.end(), is_part)) {
      // An error without content is refused.
      if (!blank || error) out_.member("content", blank ? kNoText : full_text(block));
    } else {
      out_.key("content").begin_array();
      if (!blank) write_text(full_text(block), false);
      for (const agentd_block& part : parts)
        if (is_part(part)) write_part(part);
      out_.end_array();
    }
    if (error) out_.member("is_error", true);
    if (mark) cache_mark();
    out_.end_object();
  }

  void write_part(const agentd_block& part) {
    if (is_media(part)) return write_media(part, false);
    if (part.kind == AGENTD_BLOCK_TEXT) return write_text(full_text(part), false);
  }

  void write_media(const agentd_block& block, bool mark) {
    const bool document = block.kind == AGENTD_BLOCK_DOCUMENT;
    out_.begin_object().member("type", document ? "document" : "image").key("source").begin_object();
    out_.member("type", "base64").member("media_type", view_of(block.name));
    out_.member("data", view_of(block.opaque)).end_object();
    if (document) out_.optional("title", full_text(block));
    if (mark) cache_mark();
    out_.end_object();
  }

  JsonWriter& out_;
  const AnthropicCache cache_;
  const ThinkingFilter& keeps_;
  const std::string_view provider_;
  const CallIds ids_;
};

}  // namespace

Result<void> write_anthropic_request(JsonWriter& out, const ModelRequest& request, AnthropicCache cache,
                                     const ThinkingFilter& keeps, std::string_view provider) {
  return Writer(out, request, cache, keeps, provider).write(request);
}

}  // namespace agentd
