// SPDX-License-Identifier: Apache-2.0
#pragma once
// worker_process.h - one live worker: its memory, its lanes, and the calls that run in it.
//
// A call's records are placed in the window, the call goes over a free lane, and the thread that waits there serves the
// plugin's requests in the meantime. At its deadline or on cancel the call has a grace; then the worker is killed, and
// with it every other call that runs in it. An ended worker is never restarted: its plugin makes a new one.
//
// Threading: thread-safe after attach().

#include <agentd/hook_abi.h>

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/mutex.h"
#include "core/base/thread.h"
#include "core/isolation/lane.h"
#include "core/isolation/messages.h"
#include "core/isolation/window.h"
#include "core/workers/crash_book.h"
#include "core/workers/service_desk.h"
#include "core/workers/supervisor.h"
#include "core/workers/worker_options.h"

namespace agentd {

// A worker's answer after it has loaded the module.
struct Booted {
  std::uint32_t concurrency = AGENTD_SERIAL;
  std::uint32_t functions = 0;  // kBooted...
  std::string id, version, sandbox;
  std::vector<RowInfo> rows;
  std::vector<std::string> notes;
};

struct WorkerSetup {
  WorkerSupervisor& supervisor;
  TokenTable& tokens;
  const Clock& clock;
  Log& log;
  const WorkerOptions& options;
  std::string name;  // of the hook
  int module_fd = -1;
  std::uint32_t call_lanes = 1;
  std::shared_ptr<BodyBudget> bodies;  // shared by all workers of the plugin
  BootArgs boot;                       // window_base is set here
};

// How a worker ended, or why its host is ending it.
struct WorkerEnd {
  std::string text;   // "its worker was ended by signal 11 (SIGSEGV)"
  std::string cause;  // "signal 11"
  EndKind kind = EndKind::kCrash;
  std::uint64_t at_ns = 0;
  bool base_taken = false;  // at its start the window's address was in use: another try may succeed
};

class WorkerProcess final : private RingListener::Ear {
 public:
  // Starts a worker that loads the module. The error message completes the sentence "FILE ...". kInvalid: the module
  // refused, or its worker ended or sent malformed messages. kUnavailable, kConflict: the host could not get what a
  // worker needs, which does not reflect on the module.
  static Result<std::unique_ptr<WorkerProcess>> start(const WorkerSetup& setup);
  ~WorkerProcess() override;  // kills it
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  const Booted& booted() const { return booted_; }
  // Begins to serve its requests; `context` and `tools` outlive it. Called once, before the first call.
  void attach(PluginContext& context, WorkerToolBook& tools);

  struct Target {
    std::uint32_t row = 0;
    std::uint64_t lineage = 0;
  };
  // Runs a call in the worker and waits for its end, complete() included. The reason of a failure is recorded in the
  // call's slot.
  agentd_status call(const agentd_call& call, const Target& target);

  // False if it has ended or is being killed.
  bool usable() const { return gone_.load() == 0 && !killed_.load(); }
  // Present if it is not usable().
  std::optional<WorkerEnd> ended() const;
  // REQUIRES: not usable().
  void wait_ended();
  // Ends a worker that is not needed any more; does not wait.
  void end_soon() { kill("it was not needed any more", EndKind::kWanted); }
  pid_t pid() const { return supervisor_.pid(id_); }

 private:
  explicit WorkerProcess(const WorkerSetup& setup);
  struct Running;

  Result<void> launch(const WorkerSetup& setup, std::uint32_t skip);
  LaneEnd tell_what_to_load(std::string_view body, const LaneWait& wait);
  Result<void> boot(std::uint64_t until_ns);
  Result<void> read_booted(std::string_view body);
  void make_desk(PluginContext& context, WorkerToolBook& tools);
  void on_end(const Exit& exit);
  void kill(std::string why, EndKind kind);
  std::string end_text() const;

  std::optional<std::uint32_t> take_lane(Running& running);
  void free_lane(std::uint32_t index);
  bool place(Running& running, const Target& target, LaneMessage& message);
  agentd_status converse(Running& running, Lane lane, const LaneMessage& message);
  std::optional<agentd_status> after(Running& running, LaneEnd end);
  std::optional<agentd_status> out_of_time(Running& running);
  void give_up(Running& running, std::uint32_t reason, Milliseconds grace);
  agentd_status given_up(Running& running);
  agentd_status fail(Running& running, agentd_status status, std::string text);
  // `wait` gives the worker's time to take the reply, once there is one.
  LaneEnd serve(Lane& lane, const LaneMessage& request, std::string& body, BodyShare& share,
                const std::function<LaneWait()>& wait);
  // Answers a request whose body did not fit.
  LaneEnd refuse_body(Lane& lane, const LaneMessage& request, const LaneWait& wait);
  LaneEnd hand_reply(Lane& lane, const LaneMessage& reply, std::string_view body, const LaneWait& wait);
  agentd_status wait_completed(Running& running);
  void broken(std::string_view what);

  bool on_rings(LaneEnd end, std::uint32_t lanes) override;
  bool on_look() override;
  bool has_too_many_threads() const;
  bool rang(std::uint32_t lanes);
  void start_servers(std::uint32_t lanes);
  void serve_lane(std::uint32_t index);
  LaneWait wait_for(const Running& running) const;
  LaneWait wait_until(std::uint64_t deadline_ns) const;

  WorkerSupervisor& supervisor_;
  TokenTable& tokens_;
  const Clock& clock_;
  Log& log_;
  const WorkerOptions options_;
  const std::shared_ptr<BodyBudget> bodies_;
  const std::string name_;

  std::unique_ptr<PayloadWindow> window_;
  std::shared_ptr<AnswerRegion> region_;
  std::unique_ptr<ServiceDesk> desk_;  // made under mutex_; constant from attach() on
  WorkerSupervisor::Id id_ = 0;
  std::string boot_;  // not yet sent to the worker; empty = it was sent at start
  Booted booted_;

  std::atomic<std::uint32_t> gone_{0};
  std::atomic<bool> killed_{false};

  mutable Mutex mutex_;
  Condition lane_free_;                        // a call lane is free, or the worker has ended
  Condition changed_;                          // a service lane rang, or the worker has ended
  std::vector<bool> busy_ GUARDED_BY(mutex_);  // call lanes
  std::uint32_t rang_ GUARDED_BY(mutex_) = 0;  // service lanes
  std::string why_ GUARDED_BY(mutex_);         // why the host killed it
  EndKind why_kind_ GUARDED_BY(mutex_) = EndKind::kWanted;
  std::uint64_t why_at_ns_ GUARDED_BY(mutex_) = 0;
  std::optional<WorkerEnd> end_ GUARDED_BY(mutex_);
  std::array<Thread, AnswerRegion::kServiceLanes>
      servers_;  // made by the listener's thread, joined after it has stopped looking
};

}  // namespace agentd
