// SPDX-License-Identifier: Apache-2.0
#include "core/session/agent_options.h"

#include <memory>
#include <set>
#include <string>

#include "core/session/system_prompt.h"
#include "core/workplace/cage_setup.h"
#include "core/workplace/hook_setup.h"

namespace agentd {
namespace {

std::set<std::string> final_hooks(const Config& config) {
  std::set<std::string> out;
  for (const std::string& name : config.hook_names())
    if (config.text("hooks." + name + ".authority") == "final") out.insert(name);
  return out;
}

WorkplaceSettings project_settings(const Workplace& workplace) {
  const Config& config = workplace.runtime().config();
  return {workplace.project().id, final_hooks(config), Milliseconds(config.whole("hooks.deadline_ms")),
          hook_limits(config)};
}

Result<ClientSettings> client_settings(Workplace& workplace, const OpenRequest& request) {
  const Runtime& runtime = workplace.runtime();
  const Config& config = runtime.config();
  ClientSettings out;
  AGENTD_TRY(out.system_prompt, system_prompt(workplace, request.cwd));
  out.instructions = workplace.instructions(request.cwd);
  if (config.flag("instructions"))
    out.rules_near = [&workplace, cwd = request.cwd](const std::string& path) {
      return workplace.rules_for(cwd, path);
    };
  out.cwd = request.cwd;
  out.tools_roots = request.roots.empty() ? workplace.roots_of(request.cwd) : request.roots;
  out.home = runtime.user_home();
  out.max_turns = static_cast<std::uint32_t>(config.whole("max_turns"));
  out.run_limits = request.budget.value_or(runtime.limits_of("run"));
  out.auto_compact = config.flag("compaction.auto");
  out.lifecycle = true;
  out.checkpoint_on_clear = config.flag("lifecycle.auto_checkpoint_on_clear");
  out.offer_tools = request.offer_tools;
  const bool elsewhere = request.commands && !request.commands_are_caged;
  if (request.offer_tools && (elsewhere || cage_is_off(config))) out.sandbox = elsewhere ? "client" : "off";
  out.subagents = config.flag("agents.enabled");
  out.saves = runtime.saves();
  out.client_options = request.options;
  out.waits = request.waits.value_or(config.text("permissions.unanswered") == "wait");
  out.wait_time = std::chrono::hours(config.whole("permissions.wait_hours"));
  return out;
}

// Null where subagents are asked as their parent is.
Result<std::shared_ptr<const AgentOptions>> subagent_options(const Runtime& runtime, const AgentOptions& main) {
  const std::string model = runtime.real_model(runtime.config().text("agents.model"));
  if (!main.subagents || model.empty() || model == main.model) return std::shared_ptr<const AgentOptions>();
  auto out = std::make_shared<AgentOptions>(main);
  AGENTD_TRY(static_cast<ModelSettings&>(*out), runtime.settings_for(main, model));
  return std::shared_ptr<const AgentOptions>(std::move(out));
}

}  // namespace

Result<AgentOptions> agent_options(Workplace& workplace, const OpenRequest& request) {
  const Runtime& runtime = workplace.runtime();
  AgentOptions out{runtime.model_settings(), project_settings(workplace), {}};
  if (const std::string model = runtime.real_model(request.model); !model.empty()) {
    AGENTD_TRY(static_cast<ModelSettings&>(out), runtime.settings_for(out, model));
  }
  if (!request.effort.empty()) out.thinking = {0, request.effort};
  AGENTD_TRY(static_cast<ClientSettings&>(out), client_settings(workplace, request));
  AGENTD_TRY(out.of_subagents, subagent_options(runtime, out));
  return out;
}

}  // namespace agentd
