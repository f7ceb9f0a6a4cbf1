// SPDX-License-Identifier: Apache-2.0
#pragma once
// client.h - one client of MCP: the conversation of its own in which its tools are called, and its requests that go on.
//
// The conversation is opened by the first call, and its calls are done one after the other. They pass the dispatcher,
// the rules and the receipts as the calls of a model do (Session::call_tool). No person is there: what must be asked
// about is denied.
//
// Threading: thread-safe.

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "core/base/mutex.h"
#include "core/mcp/means.h"
#include "core/mcp/own_tools.h"
#include "core/session/client_session.h"

namespace agentd::mcp {

// No answer is given.
class NobodyThere final : public Approver {
 public:
  bool is_present() const override { return false; }
  PermissionAnswer ask(const SessionContext& session, const Tool& tool, const ToolCall& call,
                       const AskedBy& by) override;
};

// How far something is: a step, and what is done now.
using Progress = std::function<void(std::uint64_t step, const std::string& what)>;

// Runs whose events nobody hears.
class Unheard final : public EventSink {
 public:
  void on_event(const RunEvent&) override {}
};

class Client final : private EventSink {
 public:
  // Whether its requests come from several connections, so that their ids mean nothing to each other.
  enum class Ids : std::uint8_t { kOfOneConnection, kOfSeveral };
  // `place`: where it works and its names. The means outlive it.
  Client(const Means& means, Caller place, Ids ids);
  // Ends its session. REQUIRES: none of its requests goes on.
  ~Client() override;
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  const Caller& place() const { return place_; }
  // The tools that it is offered: agentd's own, and those of plugins that only read or that mcp.server.tools names.
  Result<std::vector<Tool>, RunError> tools();
  // The project that it works in, as it is now.
  Result<std::shared_ptr<Workplace>, RunError> workplace() const { return means_.workplace_at(place_.cwd); }

  struct Called {
    DirectReport report;
    std::string begun{};  // the input of a call that is done behind it (own_tools.h)
  };
  // `progress` is called when it is the call's turn, when hooks and rules have let it pass, and when it has ended.
  Result<Called, RunError> call(const DirectCall& call, const CancelToken& cancel, const Progress& progress);
  // Ends the session, as if the client had left: its lessons are kept. The next call opens another one.
  void end();

  // ---- requests that go on

  // cancel() sets the token. A number for done(); nullopt: a request with that id goes on already.
  std::optional<std::uint64_t> begin(const RpcId& id, const CancelToken& token);
  void done(std::uint64_t number);
  // Nothing happens where none goes on with that id, or ids mean nothing.
  void cancel(const RpcId& id);
  void cancel_all();
  bool is_idle() const;

  // ---- a connection of the legacy era

  void set_initialized(const std::string& surface);
  bool is_initialized() const;

 private:
  void on_event(const RunEvent& event) override REQUIRES(calls_);
  Result<void, RunError> ensure_open(const CancelToken& cancel) REQUIRES(calls_);

  const Means& means_;
  Caller place_;
  const std::shared_ptr<OwnTools> own_;  // shared with the session
  NobodyThere nobody_;
  Mutex calls_;                                                // held during a call
  std::shared_ptr<Workplace> workplace_ GUARDED_BY(calls_);    // of the session; shared with others in it
  std::unique_ptr<ClientSession> session_ GUARDED_BY(calls_);  // null: nothing is open
  const Progress* progress_ GUARDED_BY(calls_) = nullptr;      // of the call
  mutable Mutex mutex_;
  struct Request {
    std::uint64_t number = 0;
    RpcId id;
    CancelToken token;
  };
  const Ids ids_;
  std::list<Request> requests_ GUARDED_BY(mutex_);
  std::uint64_t last_ GUARDED_BY(mutex_) = 0;
  bool initialized_ GUARDED_BY(mutex_) = false;
};

// True if the settings offer a plugin's tool to a client of MCP.
bool is_offered(const Tool& tool, const std::vector<std::string>& named);

}  // namespace agentd::mcp
