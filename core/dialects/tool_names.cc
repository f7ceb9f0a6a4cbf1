// SPDX-License-Identifier: Apache-2.0
#include "core/dialects/tool_names.h"

#include <cmath>

#include "core/base/paths.h"
#include "core/dialects/dialect.h"
#include "core/dialects/translator.h"

namespace agentd {
namespace {

// ---- names of MCP tools: mcp__server__tool here and in Claude Code

struct McpName {
  std::string_view server, tool;  // empty tool = not an MCP name
};

McpName split_mcp(std::string_view name, std::string_view head, std::string_view between) {
  if (name.substr(0, head.size()) != head) return {};
  name.remove_prefix(head.size());
  const std::size_t at = name.find(between);
  if (at == 0 || at == std::string_view::npos || at + between.size() == name.size()) return {};
  return {name.substr(0, at), name.substr(at + between.size())};
}

std::string rename_mcp(std::string_view name, McpForm from, McpForm to) {
  const McpName parts = split_mcp(name, from.head, from.between);
  if (parts.tool.empty()) return std::string(name);
  std::string out(to.head);
  out += parts.server;
  out += to.between;
  out += parts.tool;
  return out;
}

// ---- inputs

const ToolRow* row_of(Dialect dialect, std::string_view tool) {
  for (const ToolRow& row : tools_of(dialect))
    if (row.canonical == tool) return &row;
  return nullptr;
}

enum class Way { kOut, kBack };

struct Journey {
  Way way;
  std::string_view cwd;  // of the session; empty = paths stay as they are
};

void write_value(JsonWriter& out, JsonView value, ToolValue how, Journey to) {
  const Way way = to.way;
  constexpr double kWholeMax = 9e15;  // doubles are exact whole numbers up to here
  if (how == ToolValue::kSeconds && value.is_number()) {
    const double from = value.number_or(0);
    const double number = way == Way::kOut ? from / 1000.0 : from * 1000.0;
    if (std::fabs(number) < kWholeMax && (way == Way::kBack || number == std::floor(number)))
      out.number(static_cast<std::int64_t>(std::llround(number)));
    else
      out.real(number);
    return;
  }
  const std::string_view text = value.string_or("");
  if (how == ToolValue::kPath && way == Way::kOut && !text.empty() && !to.cwd.empty())
    out.string(lexical_path(text, to.cwd));
  else if (how == ToolValue::kFilesMode && (text == "files" || text == "files_with_matches"))
    out.string(text == "files" ? "files_with_matches" : "files");
  else
    out.value(value);
}

// Writes one member under its new name. The table swaps the two keys, so no two members collide.
void write_member(JsonWriter& out, const ToolRow& row, std::string_view key, JsonView value, Journey journey) {
  const Way way = journey.way;
  for (const ToolKey& each : row.keys) {
    const std::string_view from = way == Way::kOut ? each.canonical : each.foreign;
    const std::string_view to = way == Way::kOut ? each.foreign : each.canonical;
    if (key == from) {
      out.key(to);
      write_value(out, value, each.value, journey);
      return;
    }
    if (key == to) {
      out.key(from).value(value);
      return;
    }
  }
  out.key(key).value(value);
}

// docker's edit_file takes a list of edits; agentd's takes one edit, or a list that says of each whether it is made in
// every place.
constexpr std::string_view kEverywhere = "replace_all";

void write_edit(JsonWriter& out, std::string_view before_key, JsonView before, std::string_view after_key,
                JsonView after, JsonView everywhere = {}) {
  out.begin_object().key(before_key).value(before).key(after_key).value(after);
  if (everywhere.exists()) out.key(kEverywhere).value(everywhere);
  out.end_object();
}

bool are_edits(JsonView edits, std::string_view before_key, std::string_view after_key) {
  if (!edits.is_array() || edits.size() == 0) return false;
  for (std::size_t i = 0; i < edits.size(); ++i) {
    const JsonView edit = edits.at(i);
    if (!edit.is_object() || edit.size() != (edit[kEverywhere].exists() ? 3U : 2U) || !edit[before_key].is_string() ||
        !edit[after_key].is_string())
      return false;
  }
  return true;
}

bool fold_edit(JsonWriter& out, JsonView input, std::string_view key) {
  const JsonView before = input["old_string"], after = input["new_string"], edits = input["edits"];
  if (key == "edits" && are_edits(edits, "old_string", "new_string")) {
    out.key("edits").begin_array();
    for (std::size_t i = 0; i < edits.size(); ++i)
      write_edit(out, "oldText", edits.at(i)["old_string"], "newText", edits.at(i)["new_string"],
                 edits.at(i)[kEverywhere]);
    out.end_array();
    return true;
  }
  if (!before.is_string() || !after.is_string() || edits.exists()) return false;
  if (key != "old_string") return key == "new_string";
  out.key("edits").begin_array();
  write_edit(out, "oldText", before, "newText", after);
  out.end_array();
  return true;
}

bool unfold_edit(JsonWriter& out, std::string_view key, JsonView value) {
  if (key != "edits" || !are_edits(value, "oldText", "newText")) return false;
  if (value.size() == 1 && !value.at(0)[kEverywhere].exists()) {
    out.key("old_string").value(value.at(0)["oldText"]);
    out.key("new_string").value(value.at(0)["newText"]);
    return true;
  }
  out.key("edits").begin_array();
  for (std::size_t i = 0; i < value.size(); ++i)
    write_edit(out, "old_string", value.at(i)["oldText"], "new_string", value.at(i)["newText"],
               value.at(i)[kEverywhere]);
  out.end_array();
  return true;
}

std::string renamed(Dialect dialect, std::string_view tool, JsonView input, Journey journey) {
  const Way way = journey.way;
  const ToolRow* const row = row_of(dialect, tool);
  if (row == nullptr || !input.is_object()) return input.text();
  JsonWriter out;
  out.begin_object();
  for (std::size_t i = 0; i < input.size(); ++i) {
    const std::string_view key = input.key_at(i);
    const JsonView value = input.at(i);
    if (row->edit_list && (way == Way::kOut ? fold_edit(out, input, key) : unfold_edit(out, key, value))) continue;
    write_member(out, *row, key, value, journey);
  }
  out.end_object();
  return std::string(out.text());
}

}  // namespace

std::span<const ToolRow> tools_of(Dialect dialect) { return translator_of(dialect).tools; }

std::string foreign_tool(Dialect dialect, std::string_view tool) {
  if (const ToolRow* const row = row_of(dialect, tool)) return std::string(row->foreign);
  return rename_mcp(tool, McpForm(), translator_of(dialect).mcp);
}

std::vector<std::string> foreign_tools(Dialect dialect, std::string_view tool) {
  std::vector<std::string> out;
  for (const ToolRow& row : tools_of(dialect))
    if (row.canonical == tool) out.emplace_back(row.foreign);
  return out;
}

std::string canonical_tool(Dialect dialect, std::string_view tool) {
  for (const ToolRow& row : tools_of(dialect))
    if (row.foreign == tool) return std::string(row.canonical);
  return rename_mcp(tool, translator_of(dialect).mcp, McpForm());
}

std::string foreign_input(Dialect dialect, std::string_view tool, JsonView input, std::string_view cwd) {
  return renamed(dialect, tool, input, {Way::kOut, cwd});
}

// `tool` is agentd's name; the dialect's name is accepted too.
std::string canonical_input(Dialect dialect, std::string_view tool, JsonView input) {
  const std::string ours = row_of(dialect, tool) == nullptr ? canonical_tool(dialect, tool) : std::string(tool);
  return renamed(dialect, ours, input, {Way::kBack, {}});
}

}  // namespace agentd
