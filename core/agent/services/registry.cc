// SPDX-License-Identifier: Apache-2.0
#include "core/agent/services/registry.h"

#include <utility>

namespace agentd {

agentd_conv SessionRegistry::add(SharedSession& session, const AgentResources& agent) {
  const MutexLock lock(mutex_);
  sessions_[++last_handle_] = {&session, &agent};
  return last_handle_;
}

void SessionRegistry::remove(agentd_conv handle) {
  const MutexLock lock(mutex_);
  sessions_.erase(handle);
}

SessionRegistry::Charged SessionRegistry::charged(agentd_conv handle, const CancelToken& otherwise) const {
  const MutexLock lock(mutex_);
  const auto found = sessions_.find(handle);
  const ModelSettings& usual = runtime_.settings();
  if (found == sessions_.end())
    return {0, {}, otherwise, std::nullopt, false, nobodys_, nullptr, usual, &runtime_.parts().own_prompts};
  const SharedSession& session = *found->second.session;
  const AgentResources& agent = *found->second.agent;
  const ModelSettings& own = agent.options();
  return {handle,
          session.conversation_id(),
          session.cancel(),
          session.seen(),
          session.compacts(),
          session.account(),
          session.hook_ledger(),
          own,
          &agent.parts().prompts};
}

Origins SessionRegistry::origins_of(const Charged& who) const {
  const MutexLock lock(mutex_);
  const auto found = sessions_.find(who.conversation);
  return found == sessions_.end() ? Origins() : found->second.session->origins();
}

void SessionRegistry::charge(const Charged& who, std::string_view plugin, const Usage& usage,
                             std::string purpose) const {
  if (who.hook_ledger) who.hook_ledger->count_usage(plugin, usage);
  const MutexLock lock(mutex_);
  if (const auto found = sessions_.find(who.conversation); found != sessions_.end())
    found->second.session->charge(usage, std::move(purpose));
}

std::string SessionRegistry::model_of(agentd_conv handle) const {
  const MutexLock lock(mutex_);
  const auto found = sessions_.find(handle);
  return found == sessions_.end() ? runtime_.settings().model : found->second.agent->options().model;
}

const PromptSource& SessionRegistry::prompts_of(agentd_conv handle) const {
  const MutexLock lock(mutex_);
  const auto found = sessions_.find(handle);
  return found == sessions_.end() ? runtime_.parts().own_prompts : found->second.agent->parts().prompts;
}

std::string SessionRegistry::project_of(agentd_conv handle) const {
  const MutexLock lock(mutex_);
  const auto found = sessions_.find(handle);
  return found == sessions_.end() ? std::string() : found->second.agent->options().project_id;
}

std::optional<PermissionRules::Mode> SessionRegistry::permission_mode_of(std::string_view conversation_id) const {
  const MutexLock lock(mutex_);
  for (const auto& [handle, open] : sessions_)
    if (open.session->conversation_id() == conversation_id) return open.agent->parts().permissions.mode_now();
  return std::nullopt;
}

std::shared_ptr<Workspace> SessionRegistry::files_of(agentd_conv handle) const {
  const MutexLock lock(mutex_);
  const auto found = sessions_.find(handle);
  return found == sessions_.end() ? nullptr : found->second.agent->parts().files;
}

std::shared_ptr<ProcessHost> SessionRegistry::commands_of(agentd_conv handle) const {
  const MutexLock lock(mutex_);
  const auto found = sessions_.find(handle);
  return found == sessions_.end() ? nullptr : found->second.agent->parts().commands;
}

void SessionRegistry::count_thread(agentd_conv handle, std::string_view plugin) const {
  const MutexLock lock(mutex_);
  if (const auto found = sessions_.find(handle); found != sessions_.end())
    found->second.session->hook_ledger()->count_thread(plugin);
}

Result<void> SessionRegistry::request_compaction(agentd_conv caller, std::string_view conversation_id,
                                                 const CompactOptions& options) const {
  const MutexLock lock(mutex_);
  // A conversation may have several sessions: the caller's is meant, or the one that works.
  SharedSession* found = nullptr;
  for (const auto& [handle, open] : sessions_) {
    const bool own = handle == caller;
    if (conversation_id.empty() ? !own : open.session->conversation_id() != conversation_id) continue;
    if (found == nullptr || own || open.session->is_running()) found = open.session;
    if (own) break;
  }
  if (found != nullptr) {
    if (!found->queue_compaction(options))
      runtime_.parts().log.write(LogLevel::kInfo, "hooks",
                                 "a compaction of conversation " + found->conversation_id() +
                                     " was requested between two runs; the next run begins with it");
    return {};
  }
  return Error{Code::kUnavailable, "conversation " + std::string(conversation_id) +
                                       " is not open in this process: use agentd compact -c ID"};
}

namespace {

Error not_open() { return {Code::kNotFound, "no open conversation has that handle"}; }

}  // namespace

Result<bool> SessionRegistry::want_checkpoint(agentd_conv handle, const CheckpointWish& wish) const {
  const MutexLock lock(mutex_);
  const auto found = sessions_.find(handle);
  if (found == sessions_.end()) return not_open();
  return found->second.session->want_checkpoint(wish);
}

std::string SessionRegistry::conversation_of(agentd_conv handle) const {
  const MutexLock lock(mutex_);
  const auto found = sessions_.find(handle);
  return found == sessions_.end() ? std::string() : found->second.session->conversation_id();
}

Result<void> SessionRegistry::note(agentd_conv handle, EndNotes notes) const {
  const MutexLock lock(mutex_);
  const auto found = sessions_.find(handle);
  if (found == sessions_.end()) return not_open();
  found->second.session->note(std::move(notes));
  return {};
}

}  // namespace agentd
