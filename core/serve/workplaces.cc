// SPDX-License-Identifier: Apache-2.0
#include "core/serve/workplaces.h"

#include <filesystem>
#include <utility>

#include "core/base/bytes.h"

namespace agentd::serve {

Workplaces::Workplaces(Runtime& runtime, HookWishes wishes, Warn warn)
    : runtime_(runtime), wishes_(wishes), warn_(std::move(warn)) {}

Result<Workplace*, RunError> Workplaces::at(const std::string& cwd) {
  std::error_code none;
  if (!std::filesystem::is_directory(cwd, none))
    return RunError{RunError::Kind::kNotFound,
                    one_line(cwd, 200) + ", the directory of the conversation, is not there"};
  const MutexLock lock(mutex_);  // held while hooks are loaded, so that no project is opened twice
  const std::string root = find_project(cwd).root;
  if (const auto found = open_.find(root); found != open_.end()) return found->second.get();
  AGENTD_TRY(auto workplace, Workplace::find(runtime_, cwd, wishes_, warn_));
  AGENTD_TRY_VOID(workplace->hooks().load(workplace->roots_of(cwd)));
  return open_.emplace(root, std::move(workplace)).first->second.get();
}

std::vector<Workplace*> Workplaces::all() {
  const MutexLock lock(mutex_);
  std::vector<Workplace*> out;
  for (const auto& [root, workplace] : open_) out.push_back(workplace.get());
  return out;
}

}  // namespace agentd::serve
