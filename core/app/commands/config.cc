// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include "core/app/app.h"
#include "core/app/commands/commands.h"
#include "core/app/exit_codes.h"
#include "core/base/nearest.h"
#include "core/config/pages.h"

namespace agentd::app {

int config_show_command(App& app, const Arguments& arguments) {
  const Result<Config> config = app.config(arguments);
  if (!config) return app.fail(kExitUsage, config.error().message);
  app.out().print(settings_page(*config, arguments.has("set-only")));
  return kExitOk;
}

int config_explain_command(App& app, const Arguments& arguments) {
  const std::string& name = arguments.words()[0];
  const KeySpec* key = find_key(name);
  if (key == nullptr || name.find('*') != std::string::npos) {
    std::vector<std::string> names;
    for (const KeySpec& known : config_keys()) names.emplace_back(known.name);
    const std::string mean = did_you_mean(name, names);
    return app.fail(kExitUsage,
                    "unknown key '" + name + "'" + (mean.empty() ? "; 'agentd config show' lists them" : mean));
  }
  const Result<Config> config = app.config(arguments);
  if (!config) return app.fail(kExitUsage, config.error().message);
  app.out().print(explanation(*config, *key, name));
  return kExitOk;
}

int config_path_command(App& app, const Arguments&) {
  const Result<ConfigSources> sources = config_sources(app.surroundings());
  if (!sources) return app.fail(kExitUsage, sources.error().message);
  for (const std::string& file : {sources->system_file, sources->user_file}) {
    const bool there = ::access(file.c_str(), F_OK) == 0;
    app.out().print(file + (there ? "" : "  (does not exist)") + "\n");
  }
  return kExitOk;
}

int config_reference_command(App& app, const Arguments&) {
  app.out().print(reference_page());
  return kExitOk;
}

}  // namespace agentd::app
