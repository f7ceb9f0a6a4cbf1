// SPDX-License-Identifier: Apache-2.0
#include "core/config/rule_names.h"

#include <algorithm>
#include <cctype>

#include "core/base/bytes.h"
#include "core/dialects/tool_names.h"

namespace agentd {
namespace {

constexpr std::size_t kShownBytes = 80;

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

}  // namespace

std::set<std::string> known_tools() {
  std::set<std::string> out;
  for (const Dialect dialect : all_dialects())
    for (const ToolRow& row : tools_of(dialect)) out.insert(std::string(row.canonical));
  return out;
}

std::string wrong_rule(std::string_view rule) {
  if (is_blank(rule)) return "a rule must be a tool's name or a glob; one here is blank";
  if (const std::size_t class_begin = rule.rfind('[');
      class_begin != std::string_view::npos && rule.find(']', class_begin + 2) == std::string_view::npos)
    return "'" + one_line(rule, kShownBytes) + "' is not a glob: its '[' is not closed";
  const std::size_t open = rule.find('(');
  if (open == std::string_view::npos) return {};
  const std::vector<std::string> tools = tools_of_rule(rule.substr(0, open));
  return "'" + one_line(rule, kShownBytes) + "' is a rule about arguments, which agentd does not support yet. Write '" +
         one_line(tools.front(), kShownBytes) +
         "' for every call of that tool, or check its arguments in a hook at before_tool_call, such as the bundled "
         "guardrail";
}

std::vector<std::string> tools_of_rule(std::string_view rule) {
  const std::string wanted = lower(rule);
  std::vector<std::string> out;
  const auto add = [&](std::string_view name) {
    if (std::find(out.begin(), out.end(), name) == out.end()) out.emplace_back(name);
  };
  const std::set<std::string> known = known_tools();
  if (known.count(wanted) != 0) add(wanted);
  for (const Dialect dialect : all_dialects())
    for (const ToolRow& row : tools_of(dialect))
      if (lower(row.foreign) == wanted) add(row.canonical);
  // Here one tool does what others have two for.
  if (std::find(out.begin(), out.end(), "multi_edit") != out.end()) add("edit_file");
  if (out.empty()) add(rule);
  return out;
}

}  // namespace agentd
