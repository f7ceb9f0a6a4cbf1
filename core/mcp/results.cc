// SPDX-License-Identifier: Apache-2.0
#include "core/mcp/results.h"

#include <functional>

#include "core/mcp/own_tools.h"

namespace agentd::mcp {
namespace {

void write_text(JsonWriter& out, std::string_view text) {
  out.begin_object().member("type", "text").member("text", text).end_object();
}

void write_part(JsonWriter& out, const Block& part, const std::string& call_id) {
  if (part.kind == BlockKind::kImage) {
    out.begin_object().member("type", "image").member("data", part.opaque).member("mimeType", part.name).end_object();
  } else if (part.kind == BlockKind::kDocument) {
    out.begin_object().member("type", "resource").key("resource").begin_object();
    out.member("uri", "agentd://result/" + call_id).member("mimeType", part.name).member("blob", part.opaque);
    out.end_object().end_object();
  } else if (!part.text.empty()) {
    write_text(out, part.text);
  }
}

}  // namespace

void write_tool(JsonWriter& out, const Tool& tool) {
  out.begin_object().member("name", tool.name).optional("title", tool.title);
  out.optional("description", tool.description).key("inputSchema").raw(tool.input_schema_json);
  if (const OwnTool* const own = find_own_tool(tool.name)) out.key("outputSchema").raw(own->output_schema);
  out.key("annotations").begin_object().member("readOnlyHint", tool.read_only());
  if (!tool.read_only()) {
    out.member("destructiveHint", (tool.flags & AGENTD_TOOL_DESTRUCTIVE) != 0);
    out.member("idempotentHint", (tool.flags & AGENTD_TOOL_IDEMPOTENT) != 0);
  }
  out.member("openWorldHint", (tool.flags & AGENTD_TOOL_OPEN_WORLD) != 0).end_object().end_object();
}

std::uint64_t sum_of_tools(const std::vector<Tool>& tools) {
  JsonWriter out;
  out.begin_array();
  for (const Tool& each : tools) write_tool(out, each);
  out.end_array();
  return std::hash<std::string_view>{}(out.text());
}

std::string own_result(std::string_view json) {
  const auto parsed = JsonDocument::parse(json);
  JsonWriter out;
  out.begin_object().key("content").begin_array();
  write_text(out, json);
  out.end_array().key("structuredContent");
  if (parsed && parsed->root().is_object())
    out.raw(json);
  else
    out.begin_object().member("message", json).end_object();
  out.end_object();
  return std::string(out.text());
}

std::string tool_failure(std::string_view why) {
  JsonWriter out;
  out.begin_object().key("content").begin_array();
  write_text(out, why);
  out.end_array().member("isError", true).end_object();
  return std::string(out.text());
}

std::string tool_result(const DirectReport& report, bool own) {
  if (!report.waits_for.empty())
    return tool_failure("the call waits for a person's answer: agentd approve " + report.waits_for);
  if (own && report.status == ToolStatus::kOk) return own_result(report.text);
  JsonWriter out;
  out.begin_object().key("content").begin_array();
  if (!report.text.empty() || report.parts.empty()) write_text(out, report.text);
  for (const Block& part : report.parts) write_part(out, part, report.call_id);
  out.end_array();
  if (report.status != ToolStatus::kOk) out.member("isError", true);
  out.end_object();
  return std::string(out.text());
}

}  // namespace agentd::mcp
