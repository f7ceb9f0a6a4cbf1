// SPDX-License-Identifier: Apache-2.0
#include "core/app/commands/hooks_shared.h"

#include <csignal>

#include "core/app/exit_codes.h"
#include "core/app/keyboard.h"
#include "core/app/signals.h"
#include "core/base/bytes.h"
#include "core/base/nearest.h"
#include "core/dialects/dialect.h"
#include "core/workplace/hook_cages.h"

namespace agentd::app {

HooksHere hooks_here(const App& app, Config config, std::string home) {
  Project project = find_project(app.surroundings().cwd);
  HookSetup setup = hook_setup(app.surroundings(), config, home, project, true);
  const std::string& cwd = app.surroundings().cwd;
  setup.options.cages = hook_cages(app.surroundings(), config, home, project, workspace_roots(config, project, cwd));
  return {std::move(config), std::move(home), std::move(project), std::move(setup)};
}

Result<HooksHere, Failure> hooks_here(const App& app, const Arguments& arguments) {
  Result<std::string> home = app.home();
  if (!home) return Failure{kExitUsage, home.error().message};
  if (const auto cwd = app.directory(); !cwd) return Failure{kExitFailure, cwd.error().message};
  Result<Config> config = app.config(arguments);
  if (!config) return Failure{kExitUsage, config.error().message};
  return hooks_here(app, std::move(*config), std::move(*home));
}

Inventory inventory_of(const App& app, const HooksHere& here) {
  Inventory out = describe_all(here.setup.options, app.clock());
  for (HookSource& source : out.sources) {
    if (!is_replaced(here.setup, source.path, source.name)) continue;
    source.replaced = true;
    source.state = HookState::kOff;
    source.why_not = "replaced by another hook of this name";
  }
  return out;
}

Result<const HookSource*, Failure> source_of(const Inventory& inventory, const std::string& name) {
  std::vector<std::string> files;
  for (const HookSource& source : inventory.sources)
    if (source.name == name && !source.replaced && !source.path.empty()) files.push_back(source.path);
  if (files.size() > 1)
    return Failure{kExitUsage, one_line("'" + name + "' is the name of " + std::to_string(files.size()) +
                                            " hooks: name one by its path, and rename the other: " + join(files, ", "),
                                        2000)};
  if (const HookSource* const found = find_source(inventory, name)) return found;
  std::vector<std::string> names;
  for (const HookSource& source : inventory.sources) names.push_back(source.name);
  // "lint", if only the project has one.
  const bool of_project = find_source(inventory, "project/" + name) != nullptr;
  const std::string mean =
      of_project ? ": did you mean 'project/" + one_line(name, 200) + "'?" : did_you_mean(name, names);
  return Failure{kExitNotFound, "no hook named '" + one_line(name, 200) + "'" +
                                    (mean.empty() ? "; 'agentd hooks list' shows all hooks" : mean)};
}

bool says_yes(App& app, std::string_view body, std::string_view prompt) {
  const auto write = [&](std::string_view text) {
    app.out().print(text);
    app.out().flush();
    return app.out().failure() == 0;
  };
  const bool pastes = app.out().tty() && marks_pastes(app.surroundings().environment("TERM").value_or(""));
  int signal = 0;
  bool yes = false;
  {
    // The terminal has its own modes again before a signal ends the program.
    const SignalScope signals;
    const Result<std::string> answer = ask_person({app.surroundings().input, write, pastes, {}}, body, prompt);
    yes = answer && parse_answer(*answer).kind == Answer::Kind::kYes;
    signal = signals.caught();
  }
  if (signal != 0) std::raise(signal);
  return yes;
}

std::string joined(const std::vector<std::string>& words, std::string_view separator) {
  return words.empty() ? "-" : join(words, separator);
}

std::string runs_text(const HookDefinition& hook) {
  switch (hook.runs) {
    case HookRuns::kFile:
      return hook.path + " run";
    case HookRuns::kShell:
      return shell_of(hook.dialect) + " -c " + hook.command;
    case HookRuns::kArgv:
      return joined(hook.argv, " ");
    case HookRuns::kWebhook:
      return "POST " + hook.url;
    case HookRuns::kAction:
      return "answers " + hook.action_json;
    case HookRuns::kExtension:
      return joined(hook.argv, " ") + " (stays running)";
  }
  return {};
}

}  // namespace agentd::app
