// SPDX-License-Identifier: Apache-2.0
#pragma once
// services.h - what hooks get from the agent, and the sessions that it knows. Private to this room.
//
// Threading: thread-safe.

#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "core/agent/hook_budget.h"
#include "core/agent/session.h"
#include "core/agent/token_factors.h"
#include "core/base/timed_mutex.h"

namespace agentd {

class AgentServices final : public Services {
 public:
  AgentServices(AgentParts parts, AgentOptions options)
      : parts_(std::move(parts)),
        options_(std::move(options)),
        factors_(parts_.store, parts_.log, parts_.estimator.name()),
        sleeper_(make_sleeper(parts_.clock)),
        nobodys_(open_account({})),
        hook_budget_({options_.hook_call_tokens, options_.hook_run_tokens}) {}

  const AgentParts& parts() const { return parts_; }
  const AgentOptions& options() const { return options_; }
  // The table's entry for a model, with the user's window in its place.
  ModelInfo model_info(std::string_view model) const;
  // The options of an agent at that depth; 0 is the user's.
  const AgentOptions& options_at(std::uint32_t depth) const {
    return depth != 0 && options_.of_subagents ? *options_.of_subagents : options_;
  }
  // The model that is meant by a name which a hook or a plugin gives.
  std::string real_model(std::string_view name) const;
  std::string summary_model(std::string_view asked) const { return summary_model(asked, options_); }
  // Of an agent with these options.
  std::string summary_model(std::string_view asked, const AgentOptions& agent) const;
  // As the user wishes; a model that only summarises, in the place of the conversation's own, thinks as
  // little as it can.
  Thinking thinking_for(std::string_view model, std::uint64_t max_output_tokens, bool summarises) const;
  // The corrections of estimates; what rows and estimators count is without them.
  TokenFactors& factors() const { return factors_; }
  Rows::Count row_count() const;
  // An estimate as the model would count; empty = the conversations' model.
  std::uint64_t corrected(std::string_view model, std::uint64_t estimated) const;

  // For one run, or for what is asked outside of runs.
  std::shared_ptr<Account> open_account(AccountLimits limits) const;
  Sleeper& sleeper() const { return parts_.sleeper != nullptr ? *parts_.sleeper : *sleeper_; }

  agentd_conv add_session(SessionImpl* session);
  void remove_session(agentd_conv handle);
  // What a model call on behalf of a conversation needs of it; sessions may end while the call lasts.
  struct Charged {
    agentd_conv conversation = 0;  // 0 = nobody is charged
    std::string id;
    CancelToken cancel;
    std::optional<SessionImpl::Seen> seen;
    bool compacts = false;                      // its run writes a summary
    std::shared_ptr<Account> account{};         // never null
    std::shared_ptr<HookLedger> hook_ledger{};  // of its run; null = nobody's
  };
  Charged charged(agentd_conv handle, const CancelToken& otherwise) const;
  // The origins of a conversation's messages, while its session is open.
  Origins origins_of(const Charged& who) const;
  // Adds to the conversation's bill, if its session is still there, and to what the plugin has used of the run.
  void charge(const Charged& who, std::string_view plugin, const Usage& usage, std::string purpose) const;

  std::uint64_t count_text(std::string_view model, std::string_view text) override;
  std::uint64_t count_messages(std::string_view model, const agentd_list& messages) override;
  Result<std::string> compaction_prompt(const CompactOptions& options) override;
  Result<CompactAnswer> compact(const ServiceCaller& caller, const CompactSource& source,
                                const CompactOptions& options) override;
  Result<void> request_compaction(const ServiceCaller& caller, std::string_view conversation_id,
                                  const CompactOptions& options) override;
  Result<agentd_thread> open_thread(const ServiceCaller& caller, ThreadOptions options) override;
  Result<ThreadReply> send(const ServiceCaller& caller, agentd_thread thread, std::string_view text) override;
  Result<Usage> thread_usage(const ServiceCaller& caller, agentd_thread thread) override;
  Result<void> close_thread(std::string_view plugin_id, agentd_thread thread) override;
  Result<PluginKey> get(const ServiceCaller& caller, std::string_view key) override;
  Result<std::vector<PluginKey>> scan(const ServiceCaller& caller, std::string_view prefix, std::string_view after,
                                      std::uint32_t limit) override;
  Result<std::uint64_t> commit(const ServiceCaller& caller, std::span<const PluginKeyOp> ops) override;
  Result<std::vector<ConversationInfo>> conversations(const agentd_conv_query& query) override;
  Result<Rows> messages(std::string_view conversation_id, std::uint32_t scope, std::uint64_t at, std::uint64_t from,
                        std::uint32_t limit) override;
  Result<std::string> read_blob(std::string_view blob, std::uint64_t offset, std::uint64_t limit) override;
  Result<std::vector<ConversationInfo>> changes(std::uint64_t cursor, std::uint32_t limit,
                                                std::uint64_t* next) override;

 private:
  struct Thread {
    std::string plugin_id;
    ThreadOptions options;
    Rows history;        // guarded by talking
    TimedMutex talking;  // one request after another

    Usage spent() const {
      const std::lock_guard lock(mutex);
      return usage;
    }
    void spend(const Usage& more) {
      const std::lock_guard lock(mutex);
      usage += more;
    }
    Usage usage;  // guarded by mutex
    mutable std::mutex mutex;
  };
  Result<std::shared_ptr<Thread>> find_thread(std::string_view plugin_id, agentd_thread handle);
  Result<CompactAnswer> summarise(const Rows& rows, std::span<const SeqRange> view, const CompactOptions& options,
                                  const Charged& who, const ServiceCaller& caller);

  const AgentParts parts_;
  const AgentOptions options_;
  mutable TokenFactors factors_;
  const std::unique_ptr<Sleeper> sleeper_;
  const std::shared_ptr<Account> nobodys_;  // of calls on behalf of no conversation
  HookBudget hook_budget_;
  mutable std::mutex mutex_;
  std::map<agentd_conv, SessionImpl*> sessions_;  // guarded by mutex_
  // Shared with a send() that runs while the thread is closed.
  std::map<agentd_thread, std::shared_ptr<Thread>> threads_;  // guarded by mutex_
  std::uint64_t last_handle_ = 0;                             // guarded by mutex_
};

}  // namespace agentd
