// SPDX-License-Identifier: Apache-2.0
#pragma once
// registry.h - the open sessions of an agent by their handles: who pays for what a hook asks of a model, and whose
// messages it sees. Private to this room.
//
// Threading: thread-safe.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/agent/resources.h"
#include "core/agent/session/shared.h"
#include "core/base/mutex.h"

namespace agentd {

class SessionRegistry {
 public:
  // `runtime` outlives it: its settings and prompts are for calls on behalf of no conversation.
  explicit SessionRegistry(const RuntimeResources& runtime) : runtime_(runtime), nobodys_(runtime.open_account({})) {}

  // `session` and `agent` stay there until it is removed.
  agentd_conv add(SharedSession& session, const AgentResources& agent);
  void remove(agentd_conv handle);

  // The data that a model call needs of its conversation; the session may end during the call.
  struct Charged {
    agentd_conv conversation = 0;  // 0 = no conversation is charged
    std::string id;
    CancelToken cancel;
    std::optional<SharedSession::Seen> seen;
    bool compacts = false;                      // its run writes a summary
    std::shared_ptr<Account> account{};         // never null
    std::shared_ptr<HookLedger> hook_ledger{};  // of its run; null = none
    ModelSettings settings{};                   // of its client's models
    const PromptSource* prompts = nullptr;      // of its project, or the user's; never null
  };
  // `otherwise` cancels the call when no session has the handle.
  Charged charged(agentd_conv handle, const CancelToken& otherwise) const;
  // The origins of a conversation's messages, while its session is open.
  Origins origins_of(const Charged& who) const;
  // Adds to the conversation's bill, if its session is still there, and to what the plugin has used of the run.
  void charge(const Charged& who, std::string_view plugin, const Usage& usage, std::string purpose) const;
  // The model of a conversation; the configured model if it is not open.
  std::string model_of(agentd_conv handle) const;
  // The prompts of a conversation's project; of one that is not open, the user's.
  const PromptSource& prompts_of(agentd_conv handle) const;
  // The project of a conversation; empty when it is not open.
  std::string project_of(agentd_conv handle) const;
  // ClientParts::files of a conversation's session; null when it is not open, or has none.
  std::shared_ptr<Workspace> files_of(agentd_conv handle) const;
  // ClientParts::commands of it, likewise.
  std::shared_ptr<ProcessHost> commands_of(agentd_conv handle) const;
  // kNotFound: no open session has the handle.
  Result<void> note(agentd_conv handle, EndNotes notes) const;
  // SharedSession::want_checkpoint() of it. kNotFound: no open session has the handle.
  Result<bool> want_checkpoint(agentd_conv handle, const CheckpointWish& wish) const;
  // The mode in force; nullopt: no session of that conversation is open.
  std::optional<PermissionRules::Mode> permission_mode_of(std::string_view conversation_id) const;
  // Empty: no open session has the handle.
  std::string conversation_of(agentd_conv handle) const;
  void count_thread(agentd_conv handle, std::string_view plugin) const;

  // Asks for a compaction of the conversation with that ID; "" = of `caller`'s. kUnavailable: it is not open.
  Result<void> request_compaction(agentd_conv caller, std::string_view conversation_id,
                                  const CompactOptions& options) const;

 private:
  struct Open {
    SharedSession* session;
    const AgentResources* agent;
  };
  const RuntimeResources& runtime_;
  const std::shared_ptr<Account> nobodys_;  // pays for calls on behalf of no conversation
  mutable Mutex mutex_;
  std::map<agentd_conv, Open> sessions_ GUARDED_BY(mutex_);
  agentd_conv last_handle_ GUARDED_BY(mutex_) = 0;
};

}  // namespace agentd
