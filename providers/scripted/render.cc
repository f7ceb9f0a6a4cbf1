// SPDX-License-Identifier: Apache-2.0
#include "providers/scripted/render.h"

#include "core/codec/json.h"
#include "providers/common/wire.h"

namespace agentd {
namespace {

std::string_view role_name(std::uint16_t role) {
  if (role == AGENTD_ROLE_ASSISTANT) return "assistant";
  return role == AGENTD_ROLE_SUMMARY ? "summary" : "user";
}

std::string_view kind_name(std::uint16_t kind) {
  switch (static_cast<BlockKind>(kind)) {
    case BlockKind::kText:
      return "text";
    case BlockKind::kThinking:
      return "thinking";
    case BlockKind::kToolUse:
      return "tool_use";
    case BlockKind::kToolResult:
      return "tool_result";
    case BlockKind::kImage:
      return "image";
    case BlockKind::kDocument:
      return "document";
  }
  return "unknown";
}

void add_line(std::string& out, std::string_view text) {
  if (!text.empty()) out.append(text).append("\n");
}

void add_block(std::string& out, const agentd_block& block) {
  if (block.kind == AGENTD_BLOCK_TOOL_USE)
    out.append("call ").append(view_of(block.name)).append(" ").append(view_of(block.json)).append("\n");
  if (block.kind == AGENTD_BLOCK_TOOL_RESULT)
    add_line(out, (block.flags & AGENTD_BLOCK_ERROR) != 0 ? "result (error)" : "result");
  if (is_media(block)) add_line(out, view_of(block.name));
  add_line(out, full_text(block));
  for (const agentd_block& part : part_span(block)) add_block(out, part);
}

void write_block(JsonWriter& out, const agentd_block& block) {
  out.begin_object().member("kind", kind_name(block.kind));
  out.optional("text", full_text(block)).optional("name", view_of(block.name));
  out.optional("call_id", view_of(block.call_id)).optional("input", view_of(block.json));
  if (block.opaque.len != 0) out.member("opaque_bytes", static_cast<std::uint64_t>(block.opaque.len));
  if ((block.flags & AGENTD_BLOCK_ERROR) != 0) out.member("error", true);
  if ((block.flags & AGENTD_BLOCK_PRUNED) != 0) out.member("pruned", true);
  if (block.parts.count != 0) {
    out.key("parts").begin_array();
    for (const agentd_block& part : part_span(block)) write_block(out, part);
    out.end_array();
  }
  out.end_object();
}

void write_message(JsonWriter& out, const agentd_message& row) {
  out.begin_object().member("role", role_name(row.role)).member("seq", row.seq);
  out.key("blocks").begin_array();
  for (const agentd_block& block : block_span(row)) write_block(out, block);
  out.end_array().end_object();
}

}  // namespace

std::string render_request(const ModelRequest& request) {
  std::string out = "[system]\n";
  add_line(out, request.system);
  for (const ToolSpec& tool : request.tools) add_line(out, "tool " + tool.name);
  for (const agentd_message& row : request.messages) {
    out.append("[").append(role_name(row.role)).append("]\n");
    for (const agentd_block& block : block_span(row)) add_block(out, block);
  }
  if (!request.closing_text.empty()) add_line(out.append("[closing]\n"), request.closing_text);
  return out;
}

std::string record_request(const ModelRequest& request, std::uint64_t turn) {
  JsonWriter out;
  out.begin_object().member("for", request.purpose).member("turn", turn).member("model", request.model);
  out.optional("conversation_id", request.conversation_id);
  out.member("max_output_tokens", request.max_output_tokens).member("system", request.system);
  out.key("tools").begin_array();
  for (const ToolSpec& tool : request.tools) out.string(tool.name);
  out.end_array().key("messages").begin_array();
  for (const agentd_message& row : request.messages) write_message(out, row);
  out.end_array();
  out.optional("closing_text", request.closing_text).end_object();
  return std::string(out.text());
}

}  // namespace agentd
