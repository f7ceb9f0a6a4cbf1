// SPDX-License-Identifier: Apache-2.0
#include "core/session/recipe_tools.h"

#include <algorithm>

#include "core/recipes/commands.h"

namespace agentd {
namespace {

bool contains(const std::vector<Tool>& tools, std::string_view name) {
  return std::any_of(tools.begin(), tools.end(), [&](const Tool& tool) { return tool.name == name; });
}

}  // namespace

bool RecipeTools::has(std::string_view name) const {
  const auto& names = limits_.names;
  return !names || std::find(names->begin(), names->end(), name) != names->end();
}

std::vector<mcp::McpTools*> RecipeTools::servers() const {
  std::vector<mcp::McpTools*> out;
  for (mcp::McpTools* const each : {workplace_.mcp_servers().shared(), servers_.get()})
    if (each != nullptr) out.push_back(each);
  return out;
}

std::vector<ToolSource*> RecipeTools::sources() const {
  std::vector<ToolSource*> out;
  for (ToolSource* const each : {own_.get(), workplace_.hooks().tools()})
    if (each != nullptr) out.push_back(each);
  for (mcp::McpTools* const each : servers()) out.push_back(each);
  return out;
}

std::vector<std::string> RecipeTools::starting() const {
  std::vector<std::string> out;
  for (const mcp::McpTools* const each : servers())
    for (std::string& name : each->starting()) out.push_back(std::move(name));
  return out;
}

std::string RecipeTools::why_missing(std::string_view name) const {
  if (!has(name)) return {};
  for (const mcp::McpTools* const each : servers())
    if (std::string why = each->why_missing(name); !why.empty()) return why;
  return {};
}

std::vector<Tool> RecipeTools::tools() const {
  std::vector<Tool> out;
  for (const ToolSource* const source : sources())
    for (Tool& tool : source->tools())
      if (has(tool.name) && !contains(out, tool.name)) out.push_back(std::move(tool));
  return out;
}

Result<ToolOutcome> RecipeTools::call(const SessionContext& session, const ToolCall& call, const CancelToken& cancel,
                                      Deadline deadline) {
  // The recipe's gate has said so before, but for a call that no hook sees.
  if (limits_.commands && call.name == kShellTool)
    if (std::string why = why_command_refused(*limits_.commands, call.input.text()); !why.empty())
      return Error{Code::kDenied, std::move(why)};
  if (!has(call.name)) return Error{Code::kNotFound, "no tool named " + call.name};
  const std::vector<ToolSource*> all = sources();
  for (ToolSource* const source : all) {
    auto* const servers = dynamic_cast<mcp::McpTools*>(source);
    // A tool of a server that is away, or was not agreed to, is its server's all the same.
    if (servers != nullptr && servers->has(call.name))
      return servers->call_for(session, call, person_, cancel, deadline);
    if (servers == nullptr && (all.size() == 1 || contains(source->tools(), call.name)))
      return source->call(session, call, cancel, deadline);
  }
  return Error{Code::kNotFound, "no tool named " + call.name};
}

}  // namespace agentd
