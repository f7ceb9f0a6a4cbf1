// SPDX-License-Identifier: Apache-2.0
#pragma once
// services.h - the runtime's services for hooks, as an interface: agent implements it, bridge offers it as the C tables
// of hook_services.h.
//
// Threading: every function may be called from any thread. None fires an event on the caller's stack.

#include <agentd/hook_abi.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/clock.h"
#include "core/base/result.h"
#include "core/conversation/info.h"
#include "core/conversation/message.h"
#include "core/conversation/rows.h"

namespace agentd {

// The caller: the plugin, and the call or scope that it calls from.
struct ServiceCaller {
  std::string_view plugin_id;
  agentd_conv conversation = 0;
  std::uint32_t event = 0;  // of the running call; 0 in a scope
  CancelToken cancel;
  Deadline deadline;
  agentd_token call = 0;  // of the running call, or the scope
};

struct CompactOptions {
  std::uint32_t strategy = AGENTD_STRATEGY_DEFAULT;
  std::uint64_t keep_tokens = 0;
  std::uint32_t max_summary_tokens = 0;  // 0 = compaction.summary_tokens
  std::string model, instructions;
};

struct CompactSource {
  agentd_conv conversation = 0;       // 0 = only `messages`
  std::uint64_t first = 0, last = 0;  // log sequences; 0, 0 = the complete view
  agentd_list messages{nullptr, 0, 0};
};

struct CompactAnswer {
  std::uint32_t outcome = AGENTD_RESULT_FAILED;
  std::uint32_t method = AGENTD_METHOD_SUMMARY;
  std::string summary;
  std::uint64_t pre_tokens = 0, post_tokens = 0, kept_first = 0, kept_last = 0, base_revision = 0;
  Usage usage;
};

struct ThreadOptions {
  std::uint32_t max_tokens = 4096;
  std::string model, system;
  std::vector<Message> history;
  agentd_conv charge_to = 0;
  std::uint64_t budget_tokens = 0;  // 0 = the host's limit
};

struct ThreadReply {
  StopReason stop_reason = StopReason::kEndTurn;
  Message message;
  Usage usage;
};

struct PluginKey {
  std::string key, value;
  std::uint64_t version = 0;
};
struct PluginKeyOp {
  std::uint32_t kind = AGENTD_KV_PUT;
  std::string key, value;
  std::uint64_t expect = AGENTD_KV_ANY;
};

class Services {
 public:
  virtual ~Services() = default;

  // compactor
  virtual std::uint64_t count_text(std::string_view model, std::string_view text) = 0;
  virtual std::uint64_t count_messages(std::string_view model, const agentd_list& messages) = 0;
  virtual Result<std::string> compaction_prompt(const CompactOptions& options) = 0;
  // kBusy inside before_compaction; kUnavailable when the model failed.
  virtual Result<CompactAnswer> compact(const ServiceCaller& caller, const CompactSource& source,
                                        const CompactOptions& options) = 0;
  virtual Result<void> request_compaction(const ServiceCaller& caller, std::string_view conversation_id,
                                          const CompactOptions& options) = 0;

  // thread factory; threads belong to the plugin that opened them
  virtual Result<agentd_thread> open_thread(const ServiceCaller& caller, ThreadOptions options) = 0;
  virtual Result<ThreadReply> send(const ServiceCaller& caller, agentd_thread thread, std::string_view text) = 0;
  virtual Result<Usage> thread_usage(const ServiceCaller& caller, agentd_thread thread) = 0;
  virtual Result<void> close_thread(std::string_view plugin_id, agentd_thread thread) = 0;

  // store
  virtual Result<PluginKey> get(const ServiceCaller& caller, std::string_view key) = 0;
  virtual Result<std::vector<PluginKey>> scan(const ServiceCaller& caller, std::string_view prefix,
                                              std::string_view after, std::uint32_t limit) = 0;
  virtual Result<std::uint64_t> commit(const ServiceCaller& caller, std::span<const PluginKeyOp> ops) = 0;
  virtual Result<std::vector<ConversationInfo>> conversations(const agentd_conv_query& query) = 0;
  // Rows of the view or the log of a conversation at a revision (0 = head).
  virtual Result<Rows> messages(std::string_view conversation_id, std::uint32_t scope, std::uint64_t at,
                                std::uint64_t from, std::uint32_t limit) = 0;
  virtual Result<std::string> read_blob(std::string_view blob, std::uint64_t offset, std::uint64_t limit) = 0;
  virtual Result<std::vector<ConversationInfo>> changes(std::uint64_t cursor, std::uint32_t limit,
                                                        std::uint64_t* next) = 0;
};

// The status of an error code for a plugin.
agentd_status status_of(Code code);

}  // namespace agentd
