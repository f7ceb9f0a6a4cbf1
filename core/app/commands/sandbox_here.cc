// SPDX-License-Identifier: Apache-2.0
#include "core/app/commands/sandbox_here.h"

#include "core/workplace/hook_setup.h"
#include "core/workplace/project.h"

namespace agentd::app {

Result<SandboxHere> sandbox_here(const App& app, Config config) {
  AGENTD_TRY(const std::string cwd, app.directory());
  AGENTD_TRY(const std::string home, app.home());
  const Project project = find_project(cwd);
  std::vector<std::string> roots = config.list("workspace.roots");
  if (roots.empty()) roots = project.root == cwd ? std::vector{cwd} : std::vector{cwd, project.root};
  std::vector<std::string> kept = kept_paths(app.surroundings(), config, home, project);
  cage::CageSettings settings = cage_settings(app.surroundings(), config, home, roots, std::move(kept));
  return SandboxHere{std::move(config), std::move(settings), cwd};
}

Result<std::unique_ptr<cage::Cage>> open_cage(const SandboxHere& here) {
  AGENTD_TRY(const cage::Layer layer, cage_layer(here.config, cage::probe(here.settings.helper)));
  return cage::Cage::make(here.settings, layer);
}

}  // namespace agentd::app
