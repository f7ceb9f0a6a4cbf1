// SPDX-License-Identifier: Apache-2.0
#include "core/workplace/workplace.h"

#include "core/base/bytes.h"
#include "core/cage/git_files.h"
#include "core/cage/git_places.h"
#include "core/runtime/secret_files.h"
#include "core/runtime/store_setup.h"
#include "core/workplace/cage_setup.h"
#include "core/workplace/hook_cages.h"
#include "core/workplace/hook_setup.h"
#include "core/workplace/project_rules.h"
#include "core/workplace/recipe_setup.h"

namespace agentd {

Workplace::Workplace(Runtime& runtime, Project project, HookWishes wishes, Warn warn)
    : runtime_(runtime),
      warn_(std::move(warn)),
      project_(std::move(project)),
      recipes_(recipe_directories(runtime.config(), runtime.home(), project_, runtime.clock(), !wishes.safe_mode),
               runtime.log()),
      hooks_(runtime, project_, wishes, warn_),
      mcp_servers_(runtime, project_, wishes) {}

Result<std::unique_ptr<Workplace>, RunError> Workplace::find(Runtime& runtime, const std::string& cwd,
                                                             HookWishes wishes, Warn warn) {
  Project project = find_project(cwd);
  if (auto checked = check_roots(runtime.config()); !checked)
    return RunError{RunError::Kind::kUsage, checked.error().message};
  if (!cage_is_off(runtime.config())) {
    const auto checked = check_cage_settings(runtime.surroundings(), runtime.config(), runtime.home());
    // A directory can be made until a command needs it.
    const bool missing = !checked && checked.error().code == Code::kNotFound;
    if (!checked && !missing) return RunError{RunError::Kind::kUsage, checked.error().message};
    if (missing && wishes.tools && wishes.will_run) warn("commands are not run: " + checked.error().message);
  }
  return std::unique_ptr<Workplace>(new Workplace(runtime, std::move(project), wishes, std::move(warn)));
}

Result<void, RunError> Workplace::load(const std::string& cwd) {
  const std::vector<std::string> roots = roots_of(cwd);
  AGENTD_TRY_VOID(mcp_servers_.load(roots));
  return hooks_.load(roots);
}

Result<Recipe, RunError> Workplace::find_recipe(const std::string& name, const RecipeValues& values) const {
  auto recipe = recipes_.find(name);
  if (!recipe)
    return RunError{recipe.error().code == Code::kNotFound ? RunError::Kind::kNotFound : RunError::Kind::kUsage,
                    recipe.error().message};
  if (const auto right = recipe_values(*recipe, values); !right)
    return RunError{RunError::Kind::kUsage, right.error().message};
  // The project's own of that name may restrict more than what is used in its place.
  if (const auto entry = recipes_.look(name); entry && name != "compact")
    for (const std::string& path : entry->ignored)
      warn_(path + " is not trusted and is not used: the recipe '" + one_line(name, 80) + "' is " +
            (entry->path.empty() ? "the built-in one" : entry->path));
  return std::move(*recipe);
}

PermissionRules Workplace::permissions() {
  PermissionRules out = project_rules(runtime_.surroundings(), runtime_.config(), runtime_.home(), project_);
  const MutexLock lock(mutex_);
  if (kept_ == nullptr && !kept_broken_) {
    auto opened = KeptAnswers::open(runtime_.home(), project_.root);
    kept_broken_ = !opened;
    if (opened)
      kept_ = std::move(*opened);
    else
      warn_(opened.error().message);
  }
  out.kept = kept_;
  return out;
}

InstructionPlaces Workplace::places_of(const std::string& cwd) const {
  return {{cwd, project_.root, project_.id}, runtime_.home(), runtime_.user_home()};
}

std::string Workplace::instructions(const std::string& cwd) const {
  if (!runtime_.config().flag("instructions")) return {};
  Instructions read = read_instructions(places_of(cwd));
  for (const std::string& warning : read.warnings) warn_(warning);
  return std::move(read.text);
}

std::vector<PathRules> Workplace::rules_for(const std::string& cwd, const std::string& path) {
  std::vector<std::string> warnings, fresh;
  std::vector<PathRules> out = rules_near(places_of(cwd), path, warnings);
  {
    const MutexLock lock(mutex_);
    for (std::string& warning : warnings)
      if (told_.insert(warning).second) fresh.push_back(std::move(warning));
  }
  for (const std::string& warning : fresh) warn_(warning);
  return out;
}

std::vector<std::string> Workplace::roots_of(const std::string& cwd) const {
  return workspace_roots(runtime_.config(), project_, cwd);
}

Result<std::shared_ptr<Workspace>> Workplace::files(const std::vector<std::string>& roots) {
  const MutexLock lock(mutex_);
  std::erase_if(files_, [](const auto& each) { return each.second.expired(); });
  std::weak_ptr<Workspace>& known = files_[roots];
  if (auto open = known.lock()) return open;
  std::vector<std::string> kept = kept_paths(runtime_.surroundings(), runtime_.config(), runtime_.home(), project_);
  cage::CageSettings settings = cage_settings(runtime_.surroundings(), runtime_.config(), runtime_.home(), roots, kept);
  // For the file tools alone: the sandbox knows a repository that a command makes. Commands make worktrees and
  // submodules, too, so these are found for each change.
  for (const std::string& root : roots)
    for (const char* const of_git : {"/.git/hooks", "/.git/config"}) kept.push_back(root + of_git);
  std::vector<std::string> real;
  for (const std::string& root : roots) real.push_back(cage::real_path(root));
  const cage::GitUser user{settings.user_home, settings.xdg_config};
  const auto kept_now = [real, user] {
    std::vector<std::string> out;
    for (const std::string& root : real)
      for (std::string& path : cage::git_hook_places(root, user, real)) out.push_back(std::move(path));
    return out;
  };
  std::vector<std::string> hidden = secret_files(runtime_.home());
  hidden.push_back(store_lock_file(runtime_.home()));
  AGENTD_TRY(std::unique_ptr<Workspace> opened, open_workspace(roots, std::move(kept), std::move(hidden), kept_now));
  opened->set_cage(make_cage(std::move(settings), runtime_.config()));
  std::shared_ptr<Workspace> out = std::move(opened);
  known = out;
  return out;
}

}  // namespace agentd
