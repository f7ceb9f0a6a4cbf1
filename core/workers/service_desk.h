// SPDX-License-Identifier: Apache-2.0
#pragma once
// service_desk.h - answers a worker's service requests with the plugin's own tables.
//
// A request's form, token and grants are checked; then it goes to the same function that an in-process plugin calls.
// Rules, limits and error texts therefore exist once, in bridge and the services.
//
// Threading: thread-safe; one call for each lane at a time.

#include <agentd/ext/draft/provide.h>

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "core/base/clock.h"
#include "core/base/mutex.h"
#include "core/bridge/plugin_context.h"
#include "core/hooks/slot.h"
#include "core/isolation/messages.h"
#include "core/isolation/window.h"
#include "core/workers/token_ledger.h"

namespace agentd {

// Registers the tools and services of a worker; a `tag` is the worker's number for it, `fn` is not set.
class WorkerToolBook {
 public:
  virtual ~WorkerToolBook() = default;
  virtual agentd_status add(agentd_token token, agentd_tool tool) = 0;
  virtual agentd_status remove(agentd_token token, std::string_view name) = 0;
  virtual agentd_status add_service(agentd_token token, agentd_service_row row) = 0;
  virtual agentd_status remove_service(agentd_token token, std::string_view interface_id,
                                       std::string_view operation) = 0;
};

class ServiceDesk {
 public:
  // All arguments outlive it.
  ServiceDesk(PluginContext& context, TokenTable& tokens, PayloadWindow& window, WorkerToolBook& tools);
  ~ServiceDesk();
  ServiceDesk(const ServiceDesk&) = delete;
  ServiceDesk& operator=(const ServiceDesk&) = delete;

  TokenLedger& ledger() { return ledger_; }

  struct Answer {
    agentd_status status = AGENTD_OK;
    std::string body;
  };
  // Serves one request, the bytes of a ServiceArgs. kInvalid: the bytes are malformed, so the worker is broken.
  Result<void> serve(agentd_token token, std::string_view body, Answer& answer);

  // The worker has ended or is ending: cancels what runs for it. Does not wait.
  void give_up();

 private:
  struct Scope {
    Scope(agentd_live* words, CallSlot& slot) : mirror(words), binding(slot, cancel) {}
    agentd_live* mirror;
    CancelToken cancel;
    CancelBinding binding;
  };

  agentd_status run(agentd_token token, const ServiceArgs& args, ServiceReply& reply);
  agentd_status complete(agentd_token token, agentd_status with);
  agentd_status run_free(ServiceOp op, agentd_token token, const ServiceArgs& args, ServiceReply& reply, bool& done);
  agentd_status open_scope(const ServiceArgs& args, ServiceReply& reply);
  void close_scope(agentd_token token);
  agentd_status add_tool(agentd_token token, const ServiceArgs& args);
  agentd_status add_service(agentd_token token, const ServiceArgs& args);
  agentd_status json_field(ServiceOp op, agentd_token token, const ServiceArgs& args, ServiceReply& reply);
  agentd_status close_thread(agentd_thread thread);
  // Calls the plugin's own function of a service table.
  template <auto Slot>
  agentd_status call(agentd_token token, const ServiceArgs& args, ServiceReply& reply);
  template <typename Table>
  const Table* table(std::string_view id) const;
  // Null: not granted.
  template <typename Table>
  const Table* service() const;

  PluginContext& context_;
  TokenTable& tokens_;
  PayloadWindow& window_;
  WorkerToolBook& tools_;
  TokenLedger ledger_;
  Mutex mutex_;
  std::map<agentd_token, std::unique_ptr<Scope>> scopes_ GUARDED_BY(mutex_);
  std::set<agentd_thread> threads_ GUARDED_BY(mutex_);
  bool ended_ GUARDED_BY(mutex_) = false;
};

}  // namespace agentd
