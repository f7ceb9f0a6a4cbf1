// SPDX-License-Identifier: Apache-2.0
#include "core/session/recipe_tools.h"

#include <algorithm>

#include "core/recipes/commands.h"

namespace agentd {

bool RecipeTools::has(std::string_view name) const {
  const auto& names = limits_.names;
  return !names || std::find(names->begin(), names->end(), name) != names->end();
}

std::vector<Tool> RecipeTools::tools() const {
  std::vector<Tool> out;
  const auto add = [&](const ToolSource* source) {
    if (source == nullptr) return;
    for (Tool& tool : source->tools()) {
      const bool known = std::any_of(out.begin(), out.end(), [&](const Tool& each) { return each.name == tool.name; });
      if (!known && has(tool.name)) out.push_back(std::move(tool));
    }
  };
  add(workplace_.hooks().tools());
  add(workplace_.mcp_servers().shared());
  add(own_.get());
  return out;
}

Result<ToolOutcome> RecipeTools::call(const SessionContext& session, const ToolCall& call, const CancelToken& cancel,
                                      Deadline deadline) {
  if (!has(call.name)) return Error{Code::kNotFound, "no tool named " + call.name};
  // The recipe's gate has said so before, but for a call that no hook sees.
  if (limits_.commands && call.name == kShellTool)
    if (std::string why = why_command_refused(*limits_.commands, call.input.text()); !why.empty())
      return Error{Code::kDenied, std::move(why)};
  for (mcp::McpTools* const servers : {workplace_.mcp_servers().shared(), own_.get()})
    if (servers != nullptr && servers->has(call.name) && !is_of_plugin(call.name))
      return servers->call_for(session, call, person_, cancel, deadline);
  ToolSource* const source = workplace_.hooks().tools();
  if (source == nullptr) return Error{Code::kNotFound, "no tool named " + call.name};
  return source->call(session, call, cancel, deadline);
}

bool RecipeTools::is_of_plugin(std::string_view name) const {
  const ToolSource* const source = workplace_.hooks().tools();
  if (source == nullptr) return false;
  const std::vector<Tool> all = source->tools();
  return std::any_of(all.begin(), all.end(), [&](const Tool& each) { return each.name == name; });
}

}  // namespace agentd
