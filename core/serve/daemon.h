// SPDX-License-Identifier: Apache-2.0
#pragma once
// daemon.h - one process that serves a home: its runtime, its sessions, and the door over HTTP (docs/adr/0034).
//
// Threading: start(), serve() and the destructor on one thread; the rest on any.

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/runtime/memory_worker.h"
#include "core/serve/access.h"
#include "core/serve/client_terms.h"
#include "core/serve/clients.h"
#include "core/serve/http_server.h"
#include "core/serve/idle_memory.h"
#include "core/serve/mcp_door.h"
#include "core/serve/metrics.h"
#include "core/serve/routes.h"
#include "core/serve/sessions.h"
#include "core/serve/store_health.h"
#include "core/serve/token_streams.h"
#include "core/serve/work_pool.h"
#include "core/serve/workplaces.h"

namespace agentd::serve {

struct DaemonOptions {
  HttpServerOptions http{};
  SessionsOptions sessions{};
  HookWishes hooks{};
  std::string version;
  ClientTerms terms{};                  // for commands that would be clients
  std::vector<std::string> warnings{};  // about the settings: each of them is told
  // Directories in which no client may work, nor below them: keys of the user, agentd's home. Real paths.
  std::vector<std::string> closed{};
  // Why commands have no sandbox on this machine; empty = they have one.
  std::string uncaged{};
  std::size_t handler_threads = 4, handler_queue = 512;
  std::size_t import_bytes = 64u << 20;  // of the body of an import
  std::string program{};                 // agentd's own, for a backup; empty = unknown
};

class Daemon {
 public:
  // Listens, and answers from then on. The runtime, which is open, outlives it. kBusy: another daemon serves the home.
  static Result<std::unique_ptr<Daemon>, RunError> start(Runtime& runtime, DaemonOptions options, Warn warn);
  // Ends the sessions. REQUIRES: no other thread uses it.
  ~Daemon();
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  std::vector<std::uint16_t> ports() const { return server_->ports(); }
  const std::string& socket() const { return options_.http.socket; }

  struct Pulse {
    // Called that often, and every five seconds at least, while the thread of connections answers; 0: nobody listens.
    Milliseconds every{0};
    std::function<void()> tell{};
    std::function<void()> stopping{};  // called once, before what works is let end
  };
  // Serves until `cancel` is set; then lets what works end until the deadline of `drain`.
  void serve(const CancelToken& cancel, Milliseconds drain, const Pulse& pulse);

  // ---- for handlers

  Runtime& runtime() { return runtime_; }
  Store& store() { return runtime_.store(); }
  Sessions& sessions() { return sessions_; }
  Workplaces& workplaces() { return workplaces_; }
  StoreHealth& health() { return health_; }
  Clients& clients() { return clients_; }
  McpDoor& mcp() { return mcp_; }
  Metrics& metrics() { return metrics_; }
  const DaemonOptions& options() const { return options_; }
  HttpServerFigures figures() const { return server_->figures(); }
  bool drains() const { return drains_; }
  // Further work of a handler. False: too much waits.
  bool add_work(std::function<void()> work) { return pool_.add(std::move(work)); }
  // Held while a question is answered.
  Mutex& answering() { return answering_; }
  // Held while the store is copied.
  Mutex& backing_up() { return backing_up_; }
  std::uint64_t started_ns() const { return started_ns_; }

 private:
  Daemon(Runtime& runtime, DaemonOptions options, Warn warn);
  Result<void, RunError> take_lock();
  void refine_memories();
  void tidy();
  bool answers(Milliseconds time);
  void handle(std::shared_ptr<HttpExchange> exchange);
  void call(const Route& route, RouteCall call);
  std::size_t body_max(const RequestHead& head) const;

  Runtime& runtime_;
  DaemonOptions options_;
  const std::uint64_t started_ns_;
  UniqueFd lock_;  // of the home: one daemon
  Metrics metrics_;
  StoreHealth health_;
  Workplaces workplaces_;
  Workplaces::Shared home_;  // whose plugins act in every project: it stays open
  Sessions sessions_;
  Clients clients_;
  McpDoor mcp_;
  std::unique_ptr<MemoryWorker> memories_;  // null: nothing is distilled now
  Deadline next_memories_{0};
  IdleMemory idle_memory_;
  Access access_;
  TokenStreams streams_;
  WorkPool pool_, long_pool_;  // of handlers; the second one for those that take long
  std::atomic<bool> drains_{false};
  Mutex answering_, backing_up_;
  std::unique_ptr<HttpServer> server_;  // last: it calls the others
};

}  // namespace agentd::serve
