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
  const ToolSource* const source = hooks_.tools();
  std::vector<Tool> out = source == nullptr ? std::vector<Tool>{} : source->tools();
  std::erase_if(out, [&](const Tool& tool) { return !has(tool.name); });
  return out;
}

Result<ToolOutcome> RecipeTools::call(const SessionContext& session, const ToolCall& call, const CancelToken& cancel,
                                      Deadline deadline) {
  ToolSource* const source = hooks_.tools();
  if (source == nullptr || !has(call.name)) return Error{Code::kNotFound, "no tool named " + call.name};
  // The recipe's gate has said so before, but for a call that no hook sees.
  if (limits_.commands && call.name == kShellTool)
    if (std::string why = why_command_refused(*limits_.commands, call.input.text()); !why.empty())
      return Error{Code::kDenied, std::move(why)};
  return source->call(session, call, cancel, deadline);
}

}  // namespace agentd
