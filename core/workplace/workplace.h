// SPDX-License-Identifier: Apache-2.0
#pragma once
// workplace.h - what a project has once in a process: root, instructions, recipes, rules, hooks and files, for every
// session in it.
//
// It is found without reading more than where the project begins; its hooks are loaded, and its MCP servers found, when
// it is known that somebody will work there. Nothing here knows a session.
//
// Threading: find() on one thread; the rest on any, the hooks as their header says.

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/base/mutex.h"
#include "core/process/workspace.h"
#include "core/recipes/recipes.h"
#include "core/runtime/runtime.h"
#include "core/workplace/hooks.h"
#include "core/workplace/instructions.h"
#include "core/workplace/mcp_servers.h"
#include "core/workplace/project.h"

namespace agentd {

class Workplace {
 public:
  // The project around `cwd`; `warn` is told what is wrong with its files and hooks, now, and later on the thread of
  // the session that notices. The runtime outlives it. kUsage: a root of the workspace is not there.
  static Result<std::unique_ptr<Workplace>, RunError> find(Runtime& runtime, const std::string& cwd, HookWishes wishes,
                                                           Warn warn);
  Workplace(const Workplace&) = delete;
  Workplace& operator=(const Workplace&) = delete;

  Runtime& runtime() const { return runtime_; }
  const Project& project() const { return project_; }
  const RecipeBook& recipes() const { return recipes_; }
  // Loads the hooks for a client that works in `cwd`, and finds the servers of tools. Once. kUsage: one that the user
  // configured cannot act as the settings say. REQUIRES: Runtime::open() has succeeded.
  Result<void, RunError> load(const std::string& cwd);
  Hooks& hooks() { return hooks_; }
  McpServers& mcp_servers() { return mcp_servers_; }
  // The rules of the settings, with the answers that were kept in this project.
  PermissionRules permissions();

  // A recipe that can be used with these values. kNotFound, kUsage.
  Result<Recipe, RunError> find_recipe(const std::string& name, const RecipeValues& values) const;
  // The instructions for a session that works in `cwd`; empty where the settings want none.
  std::string instructions(const std::string& cwd) const;
  // The instructions that apply near a path, in addition; instructions.h. A warning is reported once.
  std::vector<PathRules> rules_for(const std::string& cwd, const std::string& path);

  // The roots of the files of a session that works in `cwd`; relative paths begin at the first.
  std::vector<std::string> roots_of(const std::string& cwd) const;
  // The files below them, but for what nobody may change or read (hook_setup.h); sessions with the same roots share
  // them. An error when a root cannot be opened.
  Result<std::shared_ptr<Workspace>> files(const std::vector<std::string>& roots);

 private:
  Workplace(Runtime& runtime, Project project, HookWishes wishes, Warn warn);
  InstructionPlaces places_of(const std::string& cwd) const;

  Runtime& runtime_;
  const Warn warn_;
  const Project project_;
  const RecipeBook recipes_;
  Mutex mutex_;
  std::set<std::string> told_ GUARDED_BY(mutex_);  // warnings about instructions near a path
  std::map<std::vector<std::string>, std::weak_ptr<Workspace>> files_ GUARDED_BY(mutex_);  // by their roots
  std::shared_ptr<KeptAnswers> kept_ GUARDED_BY(mutex_);
  bool kept_broken_ GUARDED_BY(mutex_) = false;  // its file is not used, and a warning said so
  Hooks hooks_;
  McpServers mcp_servers_;
};

}  // namespace agentd
