// SPDX-License-Identifier: Apache-2.0
#include "core/app/hook_setup.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

namespace agentd::app {
namespace {

constexpr const char* kOnByDefault[] = {"workspace_tools"};

bool is_directory(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

std::string absolute(const std::string& path, const std::string& cwd,
                     const std::string& user_home) {
  if (path == "~") return user_home;
  if (path.substr(0, 2) == "~/") return user_home + path.substr(1);
  return path.empty() || path[0] == '/' ? path : cwd + "/" + path;
}

PluginConfig plugin_config(const Config& config, const std::string& name) {
  const std::string key = "hooks." + name + ".";
  PluginConfig out;
  if (config.is_set(key + "enabled")) out.enabled = config.flag(key + "enabled");
  if (config.is_set(key + "config")) out.config_json = config.json(key + "config");
  if (config.is_set(key + "on_failure"))
    out.on_failure =
        config.text(key + "on_failure") == "closed" ? FailurePolicy::kClosed : FailurePolicy::kOpen;
  if (config.is_set(key + "grant")) {
    out.grants.emplace();
    for (const std::string& service : config.list(key + "grant"))
      out.grants->insert(canonical_service(service));
  }
  return out;
}

}  // namespace

std::string bundled_hooks(const std::string& executable) {
  if (executable.empty()) return {};
  const std::filesystem::path directory = std::filesystem::path(executable).parent_path();
  for (const char* place : {"../lib/agentd/hooks", "hooks", "../../hooks"}) {
    const std::string path = (directory / place).lexically_normal().string();
    if (is_directory(path)) return path;
  }
  return {};
}

HookSetup hook_setup(const App& app, const Config& config, const std::string& home, bool dropped) {
  HookSetup setup;
  PluginHostOptions& options = setup.options;
  const std::string user_home = app.surroundings().environment("HOME").value_or("");
  if (dropped) {
    options.directories.push_back(
        {app.surroundings().system_directory + "/hooks", Precedence::kSystem, true});
    options.directories.push_back({home + "/hooks", Precedence::kUser, true});
    for (const std::string& path : config.list("hooks.dirs"))
      options.directories.push_back(
          {absolute(path, app.surroundings().cwd, user_home), Precedence::kUser, true});
  }
  setup.bundled = bundled_hooks(app.surroundings().executable);
  if (!setup.bundled.empty())
    options.directories.push_back({setup.bundled, Precedence::kSystem, false});
  options.disable = config.list("hooks.disable");
  for (const std::string& name : config.hook_names())
    options.plugins[name] = plugin_config(config, name);
  for (const char* name : kOnByDefault) {
    PluginConfig& plugin = options.plugins[name];
    if (!plugin.enabled) plugin.enabled = true;
  }
  options.private_copy_directory = home + "/private";
  return setup;
}

bool is_replaced(const HookSetup& setup, const std::string& path, const std::string& name) {
  if (setup.bundled.empty() || name.empty() || path.rfind(setup.bundled + "/", 0) != 0)
    return false;
  for (const HookDirectory& directory : setup.options.directories)
    if (directory.path != setup.bundled &&
        ::access((directory.path + "/" + name + ".so").c_str(), F_OK) == 0)
      return true;
  return false;
}

}  // namespace agentd::app
