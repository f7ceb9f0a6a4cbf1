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

// Conversations that changed after a cursor, and the next cursor.
struct ConversationChanges {
  std::vector<ConversationInfo> changed;
  std::uint64_t next = 0;
};

// The list of the runtime's services for hooks, one row per function of the tables of hook_services.h:
//   X(table, function, method, Returned, (parameters))
// It generates the interface, the refusing services, the declarations of classes that implement all of it, and the
// host's side of each C function (core/bridge/service_tables.cc), which passes the C arguments in this order.
// clang-format off
#define AGENTD_SERVICE_METHODS(X)                                                                                     \
  /* compactor; compact: kBusy inside before_compaction, kUnavailable if the model failed */                          \
  X(compactor, count_text, count_text, std::uint64_t,                                                                 \
    (std::string_view /*model*/, std::string_view /*text*/))                                                          \
  X(compactor, count_messages, count_messages, std::uint64_t,                                                         \
    (std::string_view /*model*/, const agentd_list& /*messages*/))                                                    \
  X(compactor, prompt, compaction_prompt, Result<std::string>, (const ServiceCaller&, const CompactOptions&))         \
  X(compactor, compact, compact, Result<CompactAnswer>,                                                               \
    (const ServiceCaller&, const CompactSource&, const CompactOptions&))                                              \
  X(compactor, request, request_compaction, Result<void>,                                                             \
    (const ServiceCaller&, std::string_view /*conversation_id*/, const CompactOptions&))                              \
  /* thread factory; threads belong to the plugin that opened them */                                                 \
  X(thread_factory, open, open_thread, Result<agentd_thread>, (const ServiceCaller&, ThreadOptions))                  \
  X(thread_factory, send, send, Result<ThreadReply>,                                                                  \
    (const ServiceCaller&, agentd_thread, std::string_view /*text*/))                                                 \
  X(thread_factory, usage, thread_usage, Result<Usage>, (const ServiceCaller&, agentd_thread))                        \
  X(thread_factory, close, close_thread, Result<void>, (std::string_view /*plugin_id*/, agentd_thread))               \
  /* store; messages: rows of the view or the log at a revision, 0 = head */                                          \
  X(store, get, get, Result<PluginKey>, (const ServiceCaller&, std::string_view /*key*/))                             \
  X(store, scan, scan, Result<std::vector<PluginKey>>,                                                                \
    (const ServiceCaller&, std::string_view /*prefix*/, std::string_view /*after*/, std::uint32_t /*limit*/))         \
  X(store, commit, commit, Result<std::uint64_t>, (const ServiceCaller&, std::span<const PluginKeyOp>))               \
  X(store, conversations, conversations, Result<std::vector<ConversationInfo>>, (const agentd_conv_query&))           \
  X(store, messages, messages, Result<Rows>,                                                                          \
    (std::string_view /*conversation_id*/, std::uint32_t /*scope*/, std::uint64_t /*at*/, std::uint64_t /*from*/,     \
     std::uint32_t /*limit*/))                                                                                        \
  X(store, read_blob, read_blob, Result<std::string>,                                                                 \
    (std::string_view /*blob*/, std::uint64_t /*offset*/, std::uint64_t /*limit*/))                                   \
  X(store, changes, changes, Result<ConversationChanges>, (std::uint64_t /*cursor*/, std::uint32_t /*limit*/))
// clang-format on

class Services {
 public:
  virtual ~Services() = default;

#define AGENTD_METHOD(table, function, method, Returned, parameters) virtual Returned method parameters = 0;
  AGENTD_SERVICE_METHODS(AGENTD_METHOD)
#undef AGENTD_METHOD
};

// For the declaration of a class that implements all services.
#define AGENTD_SERVICE_OVERRIDE(table, function, method, Returned, parameters) Returned method parameters override;

// Services that refuse: functions that are not overridden return one error, and count nothing.
class RefusingServices : public Services {
 public:
  explicit RefusingServices(Error refusal) : refusal_(std::move(refusal)) {}

  AGENTD_SERVICE_METHODS(AGENTD_SERVICE_OVERRIDE)

 private:
  const Error refusal_;
};

// The status of an error code for a plugin.
agentd_status status_of(Code code);

}  // namespace agentd
