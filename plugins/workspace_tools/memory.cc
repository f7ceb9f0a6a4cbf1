// SPDX-License-Identifier: Apache-2.0
#include "plugins/workspace_tools/memory.h"

#include <functional>

#include "plugins/workspace_tools/text.h"

namespace workspace_tools {

Memory::Mark Memory::mark_of(std::string_view content) {
  return {std::hash<std::string_view>{}(content), content.size()};
}

void Memory::set_cwd(agentd_conv conversation, std::string_view cwd) {
  const agentd::MutexLock lock(mutex_);
  conversations_[conversation].cwd = cwd;
}

std::string Memory::cwd(agentd_conv conversation) const {
  const agentd::MutexLock lock(mutex_);
  const auto found = conversations_.find(conversation);
  return found == conversations_.end() ? std::string() : found->second.cwd;
}

void Memory::seen(agentd_conv conversation, std::string_view path, std::string_view content) {
  const agentd::MutexLock lock(mutex_);
  Conversation& one = conversations_[conversation];
  if (one.files.size() >= kFilesMax) one.files.clear();
  one.files[normal_path(one.cwd, path)] = mark_of(content);
}

Memory::State Memory::state(agentd_conv conversation, std::string_view path, std::string_view content) const {
  const agentd::MutexLock lock(mutex_);
  const auto found = conversations_.find(conversation);
  if (found == conversations_.end()) return State::kUnread;
  const auto file = found->second.files.find(normal_path(found->second.cwd, path));
  if (file == found->second.files.end()) return State::kUnread;
  return file->second == mark_of(content) ? State::kSame : State::kChanged;
}

bool Memory::knows(agentd_conv conversation, std::string_view path) const {
  const agentd::MutexLock lock(mutex_);
  const auto found = conversations_.find(conversation);
  return found != conversations_.end() && found->second.files.contains(normal_path(found->second.cwd, path));
}

void Memory::set_todos(agentd_conv conversation, std::vector<Todo> todos) {
  const agentd::MutexLock lock(mutex_);
  conversations_[conversation].todos = std::move(todos);
}

std::optional<std::vector<Todo>> Memory::todos(agentd_conv conversation) const {
  const agentd::MutexLock lock(mutex_);
  const auto found = conversations_.find(conversation);
  return found == conversations_.end() ? std::nullopt : found->second.todos;
}

void Memory::forget_files(agentd_conv conversation) {
  const agentd::MutexLock lock(mutex_);
  const auto found = conversations_.find(conversation);
  if (found != conversations_.end()) found->second.files.clear();
}

void Memory::forget(agentd_conv conversation) {
  const agentd::MutexLock lock(mutex_);
  conversations_.erase(conversation);
}

}  // namespace workspace_tools
