// SPDX-License-Identifier: Apache-2.0
#include "core/workplace/hook_cages.h"

#include <map>
#include <memory>
#include <utility>

#include "core/base/mutex.h"
#include "core/workplace/cage_setup.h"
#include "core/workplace/hook_setup.h"

namespace agentd {
namespace {

// The sandboxes that are kept, since making one takes a moment: one for each set of paths. A hook that reads the
// transcript has one for each conversation.
constexpr std::size_t kKept = 64;

class HookCages {
 public:
  HookCages(cage::CageSettings settings, Config config) : settings_(std::move(settings)), config_(std::move(config)) {}

  std::shared_ptr<CommandCage> with(const std::vector<std::string>& readable) {
    const MutexLock lock(mutex_);
    if (const auto found = kept_.find(readable); found != kept_.end()) return found->second;
    if (kept_.size() >= kKept) kept_.clear();  // those in use live on
    cage::CageSettings settings = settings_;
    settings.readable.insert(settings.readable.end(), readable.begin(), readable.end());
    std::shared_ptr<CommandCage> made = make_cage(std::move(settings), config_);
    if (!made) made = std::make_shared<cage::NoCage>(kOffText);
    return kept_[readable] = std::move(made);
  }

 private:
  static constexpr const char* kOffText =
      "it is to run in the sandbox, and sandbox.layer is off: choose a layer, or let it run outside with "
      "hooks.NAME.sandbox: off";

  const cage::CageSettings settings_;
  const Config config_;
  Mutex mutex_;
  std::map<std::vector<std::string>, std::shared_ptr<CommandCage>> kept_ GUARDED_BY(mutex_);
};

}  // namespace

MakeHookCage hook_cages(const ProcessSurroundings& surroundings, const Config& config, const std::string& home,
                        const Project& project, const std::vector<std::string>& roots) {
  const auto cages = std::make_shared<HookCages>(
      cage_settings(surroundings, config, home, roots, kept_paths(surroundings, config, home, project)), config);
  return [cages](const std::vector<std::string>& readable) { return cages->with(readable); };
}

std::vector<std::string> workspace_roots(const Config& config, const Project& project, const std::string& cwd) {
  std::vector<std::string> roots = config.list("workspace.roots");
  if (!roots.empty()) return roots;
  roots.push_back(cwd);
  if (project.root != cwd) roots.push_back(project.root);
  return roots;
}

}  // namespace agentd
