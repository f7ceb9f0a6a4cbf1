// SPDX-License-Identifier: Apache-2.0
#pragma once
// services.h - what hooks get from the agent, and the sessions that it knows. Private to this room.
//
// Threading: thread-safe.

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/agent/hook_budget.h"
#include "core/agent/resources.h"
#include "core/agent/services/hook_threads.h"
#include "core/agent/services/registry.h"

namespace agentd {

class AgentServices final : public Services {
 public:
  AgentServices(AgentParts parts, AgentOptions options)
      : agent_(std::move(parts), std::move(options)),
        sessions_(agent_.parts().log, agent_.open_account({})),
        hook_budget_({agent_.options().hook_call_tokens, agent_.options().hook_run_tokens}),
        threads_(agent_, sessions_, hook_budget_) {}

  const AgentResources& agent() const { return agent_; }
  SessionRegistry& sessions() { return sessions_; }

  // ---- compactor (services.cc)
  std::uint64_t count_text(std::string_view model, std::string_view text) override;
  std::uint64_t count_messages(std::string_view model, const agentd_list& messages) override;
  Result<std::string> compaction_prompt(const CompactOptions& options) override;
  Result<CompactAnswer> compact(const ServiceCaller& caller, const CompactSource& source,
                                const CompactOptions& options) override;
  Result<void> request_compaction(const ServiceCaller& caller, std::string_view conversation_id,
                                  const CompactOptions& options) override;

  // ---- thread factory
  Result<agentd_thread> open_thread(const ServiceCaller& caller, ThreadOptions options) override {
    return threads_.open(caller, std::move(options));
  }
  Result<ThreadReply> send(const ServiceCaller& caller, agentd_thread thread, std::string_view text) override {
    return threads_.send(caller, thread, text);
  }
  Result<Usage> thread_usage(const ServiceCaller& caller, agentd_thread thread) override {
    return threads_.usage(caller, thread);
  }
  Result<void> close_thread(std::string_view plugin_id, agentd_thread thread) override {
    return threads_.close(plugin_id, thread);
  }

  // ---- store (store.cc)
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
  Result<CompactAnswer> summarise(const Rows& rows, std::span<const SeqRange> view, const CompactOptions& options,
                                  const SessionRegistry::Charged& who, const ServiceCaller& caller);

  const AgentResources agent_;
  SessionRegistry sessions_;
  HookBudget hook_budget_;
  HookThreads threads_;
};

}  // namespace agentd
