// SPDX-License-Identifier: Apache-2.0
#include "core/workplace/hook_setup.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "core/base/bytes.h"
#include "core/base/file.h"
#include "core/codec/yaml.h"
#include "core/runtime/provider_setup.h"
#include "core/runtime/secret_files.h"

namespace agentd {
namespace {

constexpr std::uint64_t kConfigBytesMax = 1u << 20;
constexpr const char* kOnByDefault[] = {"workspace_tools", "session_memory"};

bool is_directory(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

// A relative path stays one, and is refused: it would mean whatever directory agentd is started in.
std::string expanded_hook_path(const std::string& path, const std::string& user_home) {
  if (path == "~") return user_home;
  return path.starts_with("~/") ? user_home + path.substr(1) : path;
}

// Links and dots taken out, as far as the path is there.
std::string without_links(const std::string& path) {
  std::error_code failed;
  const auto out = std::filesystem::weakly_canonical(path, failed);
  return failed ? path : out.string();
}

bool is_within(const std::string& path, const std::string& folder) {
  return path == folder || path.starts_with(folder == "/" ? folder : folder + "/");
}

PluginConfig plugin_config(const Config& config, const std::string& name) {
  const std::string key = "hooks." + name + ".";
  PluginConfig out;
  if (config.is_set(key + "enabled")) out.enabled = config.flag(key + "enabled");
  if (config.is_set(key + "config")) out.config_json = config.json(key + "config");
  if (config.is_set(key + "on_failure"))
    out.on_failure = config.text(key + "on_failure") == "closed" ? FailurePolicy::kClosed : FailurePolicy::kOpen;
  if (config.is_set(key + "isolation")) out.isolation = isolation_of(config.text(key + "isolation"));
  if (config.is_set(key + "sandbox")) out.sandbox = config.text(key + "sandbox") != "off";
  if (config.is_set(key + "grant")) {
    out.grants.emplace();
    for (const std::string& service : config.list(key + "grant")) out.grants->insert(canonical_service(service));
  }
  return out;
}

HookSettings hook_settings(const Config& config, const std::string& name, const PluginConfig& plugin) {
  const std::string key = "hooks." + name + ".";
  HookSettings out;
  out.enabled = plugin.enabled;
  out.on_failure = plugin.on_failure;
  if (config.is_set(key + "shadow")) out.shadow = config.flag(key + "shadow");
  if (config.is_set(key + "priority")) out.priority = static_cast<std::int16_t>(config.integer(key + "priority"));
  if (config.is_set(key + "sandbox") && config.text(key + "sandbox") != "manifest")
    out.sandbox = config.text(key + "sandbox") == "on";
  if (config.is_set(key + "timeout_ms")) out.timeout = Milliseconds(config.whole(key + "timeout_ms"));
  return out;
}

bool is_the_users(const Config& config, const std::string& key) {
  const std::vector<Candidate> said = config.candidates(key);
  return std::any_of(said.begin(), said.end(), [](const Candidate& each) { return each.layer == Layer::kUser; });
}

// Also one without a value.
bool has_section(const std::string& file, std::string_view name) {
  const auto text = read_file(file, kConfigBytesMax);
  if (!text) return false;
  const auto root = parse_yaml(*text, file);
  return root && root->find(name) != nullptr;
}

GrantSettings grant_settings(const Config& config, const std::string& home) {
  constexpr std::string_view kHooks = "hooks.";
  GrantSettings out;
  out.file = home + "/config.yaml";
  for (const std::string& key : config.free_keys())
    if (key.starts_with(kHooks) && is_the_users(config, key)) out.hooks.emplace(free_part(key));
  out.has_hooks = has_section(out.file, "hooks");
  return out;
}

HookLimits limits_at(const Config& config, const std::string& key, const HookLimits& otherwise) {
  const auto limit = [&](const char* name, std::uint64_t usual) {
    return config.is_set(key + name) ? config.whole(key + name) : usual;
  };
  return {limit("max_calls", otherwise.calls), limit("max_seconds", otherwise.seconds),
          limit("max_children", otherwise.children)};
}

// Next to the executable, or in ../libexec/agentd; empty if it does not exist.
std::string program_beside(const std::string& executable, const std::string& name) {
  if (executable.empty()) return {};
  const std::filesystem::path directory = std::filesystem::path(executable).parent_path();
  for (const char* const place : {"", "../libexec/agentd/"}) {
    std::string path = (directory / (place + name)).lexically_normal().string();
    if (::access(path.c_str(), X_OK) == 0) return path;
  }
  return {};
}

}  // namespace

HookLimitTable hook_limits(const Config& config) {
  HookLimitTable out;
  const HookLimits usual = limits_at(config, "hooks.", {});
  out[""] = usual;
  for (const std::string& name : config.hook_names()) out[name] = limits_at(config, "hooks." + name + ".", usual);
  return out;
}

Precedence precedence_of(const std::string& path, const Project& project, const std::string& home) {
  if (!path.starts_with('/')) return Precedence::kUser;  // a relative path is reported as an error
  const std::string real = without_links(path), root = without_links(project.root), own = without_links(home);
  const bool inside = is_within(real, root) && !is_within(real, own);
  const bool around = is_within(own, root);  // the project is around the home directory
  return inside && !around ? Precedence::kProject : Precedence::kUser;
}

bool is_same_directory(const std::string& a, const std::string& b) {
  struct stat first {
  }, second{};
  if (a == b) return true;
  return ::stat(a.c_str(), &first) == 0 && ::stat(b.c_str(), &second) == 0 && first.st_dev == second.st_dev &&
         first.st_ino == second.st_ino;
}

std::string path_state(const std::string& file) {
  struct stat info {};
  std::string out = file + '\0';
  if (::stat(file.c_str(), &info) != 0) return out;
  const auto add = [&out](auto number) { out += std::to_string(number) + ' '; };
  add(info.st_dev), add(info.st_ino), add(info.st_size), add(info.st_mode);
  for (const timespec& time : {info.st_mtim, info.st_ctim}) add(time.tv_sec), add(time.tv_nsec);
  return out;
}

namespace {

// A definition, or a program: hooks may keep other files next to theirs.
bool is_hook_file(const std::filesystem::path& path) {
  const std::string extension = path.extension().string();
  if (extension == ".yaml" || extension == ".yml") return true;
  return extension != ".so" && ::access(path.c_str(), X_OK) == 0;
}

}  // namespace

std::string hook_files_state(const ProcessSurroundings& surroundings, const Config& config, const std::string& home,
                             const Project& project) {
  const HookSetup setup = hook_setup(surroundings, config, home, project, true);
  std::vector<std::string> files;
  for (const AdaptedSource& each : setup.options.adapted) files.push_back(each.path);
  for (const HookDirectory& directory : setup.options.native.directories) {
    std::error_code failed;
    for (std::filesystem::directory_iterator at(directory.path, failed), end; !failed && at != end;
         at.increment(failed))
      if (is_hook_file(at->path())) files.push_back(at->path().string());
  }
  std::sort(files.begin(), files.end());
  std::string out;
  for (const std::string& file : files) out += path_state(file);
  return out;
}

std::string trust_state(const std::string& home) { return path_state(home + "/trust.json"); }

std::vector<std::string> kept_paths(const ProcessSurroundings& surroundings, const Config& config,
                                    const std::string& home, const Project& project) {
  std::vector<std::string> out{surroundings.system_directory};
  for (const std::string& own : {home, project.root + "/.agent"})
    for (const char* name : {"", "/config.yaml", "/hooks", "/recipes"}) out.push_back(own + name);
  out.push_back(home + "/trust.json");
  const std::string user_home = surroundings.environment("HOME").value_or("");
  std::vector<std::string> named = config.list("hooks.dirs");
  for (const std::string& text : config.list("hooks.adapt")) named.push_back(parse_adapted(text).path);
  for (const std::string& text : named) out.push_back(expanded_hook_path(text, user_home));
  return out;
}

std::string bundled_hooks(const std::string& executable) {
  if (executable.empty()) return {};
  const std::filesystem::path directory = std::filesystem::path(executable).parent_path();
  for (const char* place : {"../lib/agentd/hooks", "hooks", "../../hooks"}) {
    std::string path = (directory / place).lexically_normal().string();
    if (is_directory(path)) return path;
  }
  return {};
}

std::string worker_program(const std::string& executable) { return program_beside(executable, "agentd-hook-worker"); }

std::string cage_program(const std::string& executable) { return program_beside(executable, "agentd-cage"); }

HookSetup hook_setup(const ProcessSurroundings& surroundings, const Config& config, const std::string& home,
                     const Project& project, bool dropped) {
  HookSetup setup;
  PluginHostOptions& options = setup.options.native;
  const std::string user_home = surroundings.environment("HOME").value_or("");
  if (dropped) {
    options.directories.push_back({surroundings.system_directory + "/hooks", Precedence::kSystem, true});
    // A project around the home directory has the user's own hooks there, not those of a repository.
    if (!is_same_directory(project.root + "/.agent", home)) {
      options.directories.push_back({project.root + "/.agent/hooks", Precedence::kProject, true});
      setup.options.project_recipes = project.root + "/.agent/recipes";
    }
    options.directories.push_back({home + "/hooks", Precedence::kUser, true});
    for (const Candidate& said : config.candidates("hooks.dirs"))
      for (const std::string& text : said.value.items) {
        const std::string path = expanded_hook_path(text, user_home);
        options.directories.push_back(
            {path, precedence_of(path, project, home), true, {}, false, said.origin + ": hooks.dirs"});
      }
  }
  setup.bundled = bundled_hooks(surroundings.executable);
  if (!setup.bundled.empty())
    options.directories.push_back(
        {setup.bundled, Precedence::kSystem, false, {std::begin(kOnByDefault), std::end(kOnByDefault)}, true});
  options.disable = config.list("hooks.disable");
  options.allow = config.list("hooks.allow");
  options.quarantine_directory = home + "/quarantine";
  options.home = home;
  options.kept = kept_paths(surroundings, config, home, project);
  options.hidden = secret_files(home);
  options.isolation = isolation_of(config.text("hooks.isolation")).value_or(Isolation::kProcess);
  options.worker.program = worker_program(surroundings.executable);
  options.network_json = network_json(config);
  options.worker.memory_bytes_max = config.whole("hooks.worker_memory_mb") << 20;
  for (const std::string& name : config.hook_names()) {
    options.plugins[name] = plugin_config(config, name);
    setup.options.settings[name] = hook_settings(config, name, options.plugins[name]);
  }
  for (const char* name : kOnByDefault) {
    PluginConfig& plugin = options.plugins[name];
    if (!plugin.enabled) plugin.enabled = true;
  }
  options.grant_settings = grant_settings(config, home);
  options.private_copy_directory = home + "/private";
  setup.options.project_root = project.root;
  if (const std::string which = config.text("hooks.sandbox"); which != "asked")
    setup.options.sandbox = which == "all" ? SandboxedHooks::kAll : SandboxedHooks::kProject;
  setup.options.consent.dev = config.flag("hooks.dev");
  if (!dropped) return setup;  // nor is a guard of the user's missed then
  setup.options.trust_file = home + "/trust.json";
  setup.options.guards = config.list("hooks.guards");
  for (const Candidate& said : config.candidates("hooks.adapt"))
    for (const std::string& text : said.value.items) {
      AdaptedSource source = parse_adapted(text);
      source.path = expanded_hook_path(source.path, user_home);
      source.precedence = precedence_of(source.path, project, home);
      source.origin = said.origin;
      setup.options.adapted.push_back(std::move(source));
    }
  return setup;
}

std::vector<std::string> guards_off(const Config& config, const std::string& home, const Project& project,
                                    const Clock& clock) {
  std::vector<std::string> out, guards = config.list("hooks.guards");
  const auto store = TrustStore::open(home + "/trust.json", ::geteuid(), clock);
  if (!store) out.push_back("the list of disabled guards is unknown: " + store.error().message);
  const auto here = TrustStore::repository_key(project.root);
  if (store)
    for (const TrustEntry& entry : store->entries()) {
      const bool foreign = !entry.repository.empty() && (!here || entry.repository != *here);
      if (entry.guard && !foreign && std::find(guards.begin(), guards.end(), entry.name) == guards.end())
        guards.push_back(entry.name);
    }
  if (!guards.empty()) out.push_back("these guards are off, and nothing replaces them: " + join(guards, ", "));
  return out;
}

std::vector<std::string> safe_mode_notes(const Config& config, const std::string& home, const Project& project,
                                         const Clock& clock) {
  std::vector<std::string> out{"safe mode is on: no hook, plugin, tool or project recipe is loaded"};
  for (const std::string& note : guards_off(config, home, project, clock)) out.push_back("safe mode: " + note);
  return out;
}

bool is_replaced(const HookSetup& setup, const std::string& path, const std::string& name) {
  if (setup.bundled.empty() || name.empty() || path.rfind(setup.bundled + "/", 0) != 0) return false;
  for (const HookDirectory& directory : setup.options.native.directories)
    if (directory.path != setup.bundled && ::access((directory.path + "/" + name + ".so").c_str(), F_OK) == 0)
      return true;
  return false;
}

}  // namespace agentd
