// SPDX-License-Identifier: Apache-2.0
#pragma once
// server.h - one server: its start, its list of tools, its calls, and its next start when it has ended.
//
// A call runs the definition that was judged: after the server has said that its list has changed, or has been started
// again, calls wait until the new list is judged.
//
// Threading: thread-safe; a thread of its own starts it.

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/clock.h"
#include "core/base/mutex.h"
#include "core/base/thread.h"
#include "core/tools/elicitor.h"
#include "core/tools/tool.h"
#include "providers/mcp/connection.h"
#include "providers/mcp/definitions.h"
#include "providers/mcp/handshake.h"
#include "providers/mcp/server_parts.h"
#include "providers/mcp/server_setup.h"

namespace agentd::mcp {

class Server {
 public:
  // `parts` outlive it.
  Server(ServerSetup setup, const McpParts& parts);
  // Ends it.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  const std::string& prefix() const { return prefix_; }  // of the names of its tools
  void start();
  void end_soon();
  // True once its tools are listed, or a start has failed.
  bool is_settled() const;
  bool is_starting() const;  // for the first time
  const std::string& name() const { return setup_.name; }
  const std::string& identity() const { return setup_.identity; }
  ServerStatus status() const;
  // The tools that the user has agreed to, also while it is away.
  std::vector<Tool> tools() const;
  bool has(std::string_view name) const;
  // McpTools::why_missing().
  std::string why_missing(std::string_view name) const;
  void judge_again();
  Result<ToolOutcome> call(const ToolCall& call, Elicitor* person, const CancelToken& cancel, Deadline deadline);

 private:
  struct Offered {
    Tool tool;
    Definition definition;
    Pins::Verdict verdict = Pins::Verdict::kAgreed;
    std::vector<ParamField> params;
  };
  using Offer = std::vector<Offered>;
  struct Ready {
    std::shared_ptr<Connection> connection;
    std::shared_ptr<const Offer> offer;
  };

  void run();
  Result<void> bring_up();
  Result<std::shared_ptr<Connection>> connect(Deadline deadline);
  Result<void> list(Connection& connection, Deadline deadline);
  bool is_wanted(const std::string& tool) const;  // by ServerSetup::tools and except_tools
  std::shared_ptr<const Offer> judged(std::vector<Definition> tools);
  void take_offer(std::shared_ptr<const Offer> offer) REQUIRES(mutex_);
  // Returns when the connection has ended, or the server is to end.
  void serve();
  void pause(Milliseconds time);
  void note_end(const Connection* which, const std::string& why);
  void note_change();
  Result<Ready> await_ready(const CancelToken& cancel, Deadline deadline);
  Result<const Offered*> offered(const Offer& offer, std::string_view name) const;
  Result<ToolOutcome, Failure> run_call(Connection& connection, const Offered& tool, const std::string& arguments,
                                        Elicitor* person, const CancelToken& cancel, Deadline deadline) const;
  Result<ToolOutcome> told(const Failure& failure, const CancelToken& cancel) const;
  // "the MCP server 'x' has ended", without its secrets.
  std::string sentence(const std::string& rest) const;
  std::string clean(std::string text) const;
  std::string hint(const Failure& why) const;  // ServerSetup::start_hint, where it may help
  void warn_once(const std::string& text);

  const ServerSetup setup_;
  const McpParts& parts_;
  const std::string prefix_;
  const CancelToken end_;
  std::vector<std::string> secrets_;
  mutable Mutex mutex_;
  Condition changed_;
  ServerState state_ GUARDED_BY(mutex_) = ServerState::kNotStarted;
  std::string why_ GUARDED_BY(mutex_);
  bool started_ GUARDED_BY(mutex_) = false;
  bool settled_ GUARDED_BY(mutex_) = false;
  std::uint64_t changes_ GUARDED_BY(mutex_) = 0;  // of the list, as far as the server tells them
  std::uint64_t judged_ GUARDED_BY(mutex_) = 0;   // those that the offer has
  bool ended_ GUARDED_BY(mutex_) = false;         // the connection
  bool at_once_ GUARDED_BY(mutex_) = false;       // the next start needs no pause
  bool legacy_ GUARDED_BY(mutex_) = false;        // a program of the old era, or one that ends at server/discover
  mutable bool overdue_ GUARDED_BY(mutex_) = false;
  Agreed agreed_ GUARDED_BY(mutex_);
  Deadline fresh_ GUARDED_BY(mutex_){};
  std::uint64_t answers_ GUARDED_BY(mutex_) = 0;
  std::string error_text_ GUARDED_BY(mutex_);
  std::shared_ptr<const Offer> offer_ GUARDED_BY(mutex_);
  std::shared_ptr<Connection> connection_ GUARDED_BY(mutex_);
  std::set<std::string, std::less<>> names_ GUARDED_BY(mutex_);  // of all tools that it had
  std::set<std::string> warned_ GUARDED_BY(mutex_);
  Thread thread_;
};

}  // namespace agentd::mcp
