// SPDX-License-Identifier: Apache-2.0
#include "core/config/rule_names.h"

#include <algorithm>

#include "core/base/bytes.h"
#include "core/dialects/tool_names.h"

namespace agentd {
namespace {

constexpr std::size_t kShownRuleNameBytes = 80;
// Names of other agents' tools for which agentd has none.
constexpr std::pair<std::string_view, std::string_view> kInstead[] = {
    {"ls", "glob and bash list folders"},
    {"multi_edit", "edit_file makes several edits"},
    {"notebook_edit", "edit_file changes a notebook as text"},
    {"todo_read", "todo_write keeps the list of tasks"},
    {"web_search", "web_fetch gets a page whose address is known"}};
constexpr std::string_view kWebTool = "web_fetch";
// Tools whose calls a rule over arguments cannot tell apart: agentd's own, and those of its memory.
constexpr std::string_view kNoArguments[] = {
    "task",          "web_search",      "todo_write",      "todo_read",         "bash_output",
    "kill_shell",    "session_start",   "session_end",     "context_threshold", "memory_search",
    "memory_record", "memory_feedback", "checkpoint_save", "checkpoint_list",   "checkpoint_resume"};

}  // namespace

std::set<std::string> known_tools() {
  std::set<std::string> out;
  for (const Dialect dialect : all_dialects())
    for (const ToolRow& row : tools_of(dialect)) out.insert(std::string(row.canonical));
  return out;
}

std::set<std::string> own_tools() {
  std::set<std::string> out = known_tools();
  for (const auto& [name, instead] : kInstead) out.erase(std::string(name));
  return out;
}

std::string_view instead_of(std::string_view tool) {
  for (const auto& [name, instead] : kInstead)
    if (name == tool) return instead;
  return {};
}

std::string wrong_rule(std::string_view rule) {
  const auto parts = rule_parts(rule);
  if (!parts) return parts.error().message;
  const std::string& tool = parts->tool;
  if (const std::size_t class_begin = tool.rfind('[');
      class_begin != std::string::npos && tool.find(']', class_begin + 2) == std::string::npos)
    return "'" + one_line(rule, kShownRuleNameBytes) + "' is not a glob: its '[' is not closed";
  const auto made = rules_of(rule, {});
  return made ? std::string() : made.error().message;
}

Result<std::vector<PermissionRule>> rules_of(std::string_view rule, const std::string& place) {
  AGENTD_TRY(const RuleParts parts, rule_parts(rule));
  std::vector<PermissionRule> out;
  for (std::string& tool : tools_of_rule(parts.tool)) {
    AGENTD_TRY(PermissionRule made, make_rule({tool, parts.argument}, std::string(rule), place));
    const std::string shown = "'" + one_line(rule, kShownRuleNameBytes) + "' ";
    if (tool == kWebTool && std::holds_alternative<PathPattern>(made.argument))
      return Error{Code::kInvalid, shown + "can match nothing: write " + tool + "(domain:HOST)"};
    if (tool != kWebTool && known_tools().count(tool) != 0 && std::holds_alternative<DomainPattern>(made.argument))
      return Error{Code::kInvalid, shown + "can match nothing, since " + tool + " has no URL"};
    if (std::find(std::begin(kNoArguments), std::end(kNoArguments), tool) != std::end(kNoArguments) && !made.is_whole())
      return Error{Code::kInvalid, shown + "can match nothing, since " + tool + " has no path and no command: write '" +
                                       tool + "' for every call of it"};
    if (tool.starts_with("mcp__") && !made.is_whole())
      return Error{Code::kInvalid, shown +
                                       "can match nothing, since rules see no argument of a server's tool: write '" +
                                       tool + "' for every call of it"};
    out.push_back(std::move(made));
  }
  return out;
}

std::vector<std::string> tools_of_rule(std::string_view rule) {
  const std::string wanted = ascii_lower(rule);
  std::vector<std::string> out;
  const auto add = [&](std::string_view name) {
    if (std::find(out.begin(), out.end(), name) == out.end()) out.emplace_back(name);
  };
  const std::set<std::string> known = known_tools();
  if (known.count(wanted) != 0) add(wanted);
  for (const Dialect dialect : all_dialects())
    for (const ToolRow& row : tools_of(dialect))
      if (ascii_lower(row.foreign) == wanted) add(row.canonical);
  // Here one tool does what others have two for.
  if (std::find(out.begin(), out.end(), "multi_edit") != out.end()) add("edit_file");
  // As in Claude Code, a server's name alone stands for all of its tools.
  constexpr std::string_view kOfServers = "mcp__";
  const bool is_server = rule.starts_with(kOfServers) && rule.find("__", kOfServers.size()) == std::string_view::npos &&
                         rule.find_first_of("*?[") == std::string_view::npos;
  if (out.empty()) add(std::string(rule) + (is_server ? "__*" : ""));
  return out;
}

}  // namespace agentd
