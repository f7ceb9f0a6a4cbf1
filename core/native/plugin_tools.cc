// SPDX-License-Identifier: Apache-2.0
#include "core/native/plugin_tools.h"

#include <algorithm>
#include <map>
#include <utility>

namespace agentd {
namespace {

// Not a flag of agentd.tools/1: a tool that says so and does otherwise writes placeholders over secrets.
bool takes_placeholders(const Plugin& plugin, const Tool& tool) {
  return plugin.identity().id == "agentd.workspace_tools" && tool.name == "edit_file";
}

}  // namespace

PluginTools::PluginTools(Plugins plugins, const Clock& clock, WhyDenied why_denied)
    : plugins_(std::move(plugins)), clock_(clock), why_denied_(std::move(why_denied)) {}

std::vector<Tool> PluginTools::tools() const {
  std::vector<Tool> out;
  for (const auto& plugin : plugins_())
    for (PluginTool& each : plugin->tools()) {
      const bool taken =
          std::any_of(out.begin(), out.end(), [&](const Tool& other) { return other.name == each.tool.name; });
      if (taken) continue;
      if (!plugin->concurrent()) each.tool.serial_plugin = plugin->identity().id;
      each.tool.takes_placeholders = takes_placeholders(*plugin, each.tool);
      out.push_back(std::move(each.tool));
    }
  return out;
}

Result<ToolOutcome> PluginTools::call(const SessionContext& session, const ToolCall& call, const CancelToken& cancel,
                                      Deadline deadline) {
  for (const auto& plugin : plugins_())
    for (const PluginTool& each : plugin->tools()) {
      if (each.tool.name != call.name) continue;
      const Deadline own = Deadline::after(clock_, each.tool.timeout);
      auto out = plugin->call_tool(each, call, session, cancel, Deadline{std::min(own.at_ns, deadline.at_ns)});
      const bool failed = out ? !out->success : out.error().code == Code::kDenied;
      const std::string why = failed && why_denied_ ? why_denied_(*plugin) : std::string();
      if (why.empty()) return out;
      if (!out) return Error{out.error().code, out.error().message + " (" + why + ")"};
      out->content += "\n(" + why + ")";
      return out;
    }
  return Error{Code::kNotFound, "no tool is named " + call.name};
}

std::vector<std::string> PluginTools::duplicates() const {
  std::vector<std::string> out;
  std::map<std::string, std::string> owners;
  for (const auto& plugin : plugins_())
    for (const PluginTool& each : plugin->tools()) {
      const auto [owner, is_new] = owners.emplace(each.tool.name, plugin->identity().name);
      if (!is_new)
        out.push_back("the tool " + each.tool.name + " of " + plugin->identity().name + " is hidden by that of " +
                      owner->second + ": disable one of the two hooks");
    }
  return out;
}

}  // namespace agentd
