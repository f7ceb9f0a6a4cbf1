// SPDX-License-Identifier: Apache-2.0
#pragma once
// door.h - agentd as an agent of the Agent Client Protocol, version 1: the methods that an editor calls.
//
// The runtime is begun by the first request that needs it, so that an editor learns over the protocol what is missing.
// Source: agentclientprotocol.com, schema of version 1.
//
// Threading: one thread; sessions work on theirs.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/acp/editor_session.h"
#include "core/rpc/wire.h"
#include "core/runtime/memory_worker.h"

namespace agentd::acp {

struct DoorOptions {
  std::string version;
  HookWishes hooks{};
};

class Door {
 public:
  // All outlive it. `warn` gets what is wrong with files, on any thread.
  Door(const ProcessSurroundings& surroundings, const Config& config, const Clock& clock, RpcWire& wire,
       DoorOptions options, Warn warn);
  // Ends its sessions.
  ~Door();
  Door(const Door&) = delete;
  Door& operator=(const Door&) = delete;

  // Answers until the editor goes or `cancel` is set.
  void serve(const CancelToken& cancel);

 private:
  using Reply = Result<std::string, RpcFault>;  // the result, JSON; empty = it is answered later
  struct Method {
    std::string_view name;
    Reply (Door::*call)(const RpcMessage&);
    bool needs_runtime = true;
  };
  static const Method kMethods[];

  void take(const RpcMessage& message);
  void take_notification(const RpcMessage& message);
  Reply call(const RpcMessage& message);
  Reply initialize(const RpcMessage& message);
  Reply authenticate(const RpcMessage& message);
  Reply new_session(const RpcMessage& message);
  Reply load_session(const RpcMessage& message);
  Reply resume_session(const RpcMessage& message);
  Reply list_sessions(const RpcMessage& message);
  Reply close_session(const RpcMessage& message);
  Reply delete_session(const RpcMessage& message);
  Reply set_mode(const RpcMessage& message);
  Reply set_option(const RpcMessage& message);
  Reply prompt(const RpcMessage& message);

  // kUsage, kProvider: a key or a setting is missing; the next request tries again.
  Result<void, RunError> begin();
  Reply reopen(const RpcMessage& message, bool replays);
  Reply open(const RpcMessage& message, Opening opening);
  Result<Opening, RpcFault> opening_of(JsonView params) const;
  // kRpcNotFound: there is none of a person.
  Result<Ulid, RpcFault> conversation_of(std::string_view name) const;
  Reply remove(const Ulid& conversation, bool was_open) const;
  // kRpcNotFound: it is not open.
  Result<std::shared_ptr<EditorSession>, RpcFault> session_of(JsonView params);

  const ProcessSurroundings& surroundings_;
  const Config& config_;
  const Clock& clock_;
  RpcWire& wire_;
  const DoorOptions options_;
  const Warn warn_;
  bool initialized_ = false;
  ClientAbilities abilities_;
  std::unique_ptr<Runtime> runtime_;               // null until it could be begun
  std::unique_ptr<serve::Workplaces> workplaces_;  // likewise
  CommandHosts commands_;                          // of the sessions
  serve::JobThreads threads_;                      // of the sessions
  std::unique_ptr<MemoryWorker> memories_;         // null: nothing is distilled
  Mutex mutex_;
  // Shared with the requests that use them.
  std::map<std::string, std::shared_ptr<EditorSession>, std::less<>> sessions_ GUARDED_BY(mutex_);
  std::vector<std::shared_ptr<EditorSession>> opening_ GUARDED_BY(mutex_), ended_ GUARDED_BY(mutex_);
};

}  // namespace agentd::acp
