// SPDX-License-Identifier: Apache-2.0
#pragma once
// worker_plugin.h - a native module that runs in a worker process, or in one per conversation.
//
// The first worker of an unknown module starts at load, so that its errors are reported then. A module that has started
// before with the same bytes, configuration and grants gets its worker at the first call, unless it has tools or tasks.
//
// For the dispatcher it is a plugin like any other: the functions of its subscriptions call a worker. The next call
// replaces a worker that has ended, immediately the first time, then with growing pauses; a plugin whose workers keep
// crashing or hanging is quarantined. A start has its own limits and continues when the call that wanted it gives up; a
// call whose deadline is before the end of a pause fails immediately.
//
// Threading: as Plugin.

#include <agentd/hook_abi.h>

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/mutex.h"
#include "core/native/manifest.h"
#include "core/native/plugin.h"
#include "core/services/service.h"
#include "core/trust/hook_directories.h"
#include "core/trust/sealed_file.h"
#include "core/workers/aside.h"
#include "core/workers/crash_book.h"
#include "core/workers/supervisor.h"
#include "core/workers/worker_instance.h"
#include "core/workers/worker_options.h"
#include "core/workers/worker_records.h"

namespace agentd {

// Why no worker can run the module: a sentence that begins with its path and says what to do; empty = one can.
std::string no_worker(const WorkerOptions& options, const HookFile& file);

// The parts that a worker plugin needs in addition to PluginEnvironment.
struct WorkerPlacing {
  // Shared with the plugins, which snapshots may keep alive after their host.
  std::shared_ptr<WorkerSupervisor> supervisor;
  WorkerOptions options;
  Isolation isolation = Isolation::kProcess;
  std::vector<std::string> roots;            // opened by "files:read" and "files:write"
  std::shared_ptr<WorkerRecords> records{};  // null = each module starts at load
  // Events that will certainly come: their subscribers' workers start immediately, in the background.
  std::vector<std::uint32_t> expected{};
};

class WorkerPlugin final : public Plugin, private InstanceTools {
 public:
  // Starts the first worker and makes an instance in it, unless a record allows it to wait. Errors are complete
  // sentences that name the file.
  static Result<std::shared_ptr<WorkerPlugin>> load(const HookFile& file, SealedFile sealed, Manifest manifest,
                                                    Grants grants, const PluginConfig& config,
                                                    const PluginEnvironment& environment, WorkerPlacing placing);
  ~WorkerPlugin() override;
  WorkerPlugin(const WorkerPlugin&) = delete;
  WorkerPlugin& operator=(const WorkerPlugin&) = delete;

  const std::string& path() const override { return path_; }
  Precedence precedence() const override { return precedence_; }
  Isolation isolation() const override { return placing_.isolation; }
  const PluginIdentity& identity() const override { return context_->identity(); }
  const Manifest& manifest() const override { return manifest_; }
  const Grants& grants() const override { return context_->grants(); }
  const std::vector<std::string>& notes() const override { return booted_.notes; }
  std::vector<Subscription> subscriptions() const override;
  std::vector<PluginTool> tools() const override;
  bool concurrent() const override { return booted_.concurrency == AGENTD_CONCURRENT; }
  Result<ToolOutcome> call_tool(const PluginTool& tool, const ToolCall& call, const SessionContext& session,
                                const CancelToken& cancel, Deadline deadline) override;
  const void* service_instance() const override { return context_->core(); }
  std::vector<OfferedService> services() const override;
  ServiceAnswer call_service(const OfferedService& service, const ServiceRequest& request) override;
  // With a worker per conversation, the state of the one that belongs to no conversation.
  Result<std::optional<std::string>> save_state() override;
  Result<void> load_state(std::string_view state, std::string_view previous_version) override;
  Result<void> destroy() override;
  void end_soon() override;
  bool waits_to_end() const override;

  // Process ids of the live workers.
  std::vector<pid_t> pids() const;

 private:
  using Instance = WorkerInstance;
  using Start = PendingStart;
  using InstancePtr = std::shared_ptr<Instance>;  // shared by the map and the calls that run in it
  using ProcessPtr = std::shared_ptr<WorkerProcess>;
  struct Row {
    WorkerPlugin* plugin = nullptr;
    std::uint32_t index = 0;
    RowInfo info;
  };
  struct ToolSelf {
    WorkerPlugin* plugin = nullptr;
    std::string name;
  };
  struct ServiceSelf {
    WorkerPlugin* plugin = nullptr;
    Instance::ServiceName name;
  };

  WorkerPlugin(const HookFile& file, SealedFile sealed, Manifest manifest, const PluginConfig& config,
               const PluginEnvironment& environment, WorkerPlacing placing);
  Result<void> start(const HookFile& file, Grants grants, const PluginEnvironment& environment);
  Result<ProcessPtr> start_first();
  bool may_wait() const;
  std::string record_key() const;
  void keep_record();
  void set_up(const HookFile& file, Grants grants, const PluginEnvironment& environment);
  void start_when_expected();
  Result<ProcessPtr> start_primary(agentd_live& live);
  WorkerSetup setup() const;
  Result<void> check(const Booted& booted) const;

  static agentd_status AGENTD_CALL call_row(void* self, const agentd_call* call) noexcept;
  static agentd_status AGENTD_CALL call_tool_row(void* self, const agentd_call* call) noexcept;
  static agentd_status AGENTD_CALL call_service_row(void* self, const agentd_call* call) noexcept;
  // Where a call goes in the worker: a row, or the tool or service with that name; one of the two is null.
  struct Wanted {
    std::uint32_t row = 0;
    const std::string* tool = nullptr;
    const Instance::ServiceName* service = nullptr;
  };
  agentd_status run(const agentd_call& call, const Wanted& wanted);
  agentd_status run_in(Instance& instance, WorkerProcess& process, const agentd_call& call, const Wanted& wanted);
  // An instance that no other call ends during the object's lifetime.
  struct Use {
    ~Use();
    WorkerPlugin& plugin;
    InstancePtr instance;  // null = no place was free in time
  };
  Use use_instance(const agentd_call& call);
  InstancePtr wait_for_instance(agentd_conv key, const agentd_live& live, std::vector<InstancePtr>& surplus);
  void end_use(InstancePtr instance);
  std::vector<InstancePtr> take_idle(std::size_t keep) REQUIRES(mutex_);
  bool hears_of_its_end() const;
  // `hang`: how a destroy() that does not return in time is recorded.
  Result<void> end_instance(Instance& instance, Deadline deadline, EndKind hang);
  Result<void> end_all(const std::map<agentd_conv, InstancePtr>& instances);
  void evict(InstancePtr instance);
  // The instance is its process's tool book: both are held, and the process is released first.
  struct Primary {
    InstancePtr instance;
    ProcessPtr process;
  };
  Primary primary();
  Result<ProcessPtr> process_of(const InstancePtr& instance, const agentd_live& live);
  Result<std::shared_ptr<Start>> begin_start(const InstancePtr& instance) REQUIRES(instance->mutex);
  void finish_start(InstancePtr& instance, Start& start);
  Result<ProcessPtr> replace(Instance& instance, Start& start);
  Result<void> pause(Start& start) const;
  // How to record a worker that could not start.
  struct NoStart {
    EndKind kind = EndKind::kCrash;
    std::string cause = "it did not start";
  };
  Result<ProcessPtr> make(Instance& instance, NoStart& why);
  // `said`: receives its status, if not null.
  Result<void> create(WorkerProcess& process, Milliseconds at_most, agentd_status* said = nullptr);
  void note_end(Instance& instance);
  void count_end(std::uint64_t at_ns, EndKind kind, std::string_view cause);
  Error set_aside_error() const;
  Result<std::vector<Action>> control(WorkerProcess& process, std::uint32_t event, const void* payload,
                                      Milliseconds at_most, agentd_status* said = nullptr);
  std::uint32_t isolation_number() const;

  agentd_status add_tool(Instance& instance, agentd_token token, agentd_tool tool) override;
  agentd_status remove_tool(Instance& instance, agentd_token token, std::string_view name) override;
  agentd_status add_service(Instance& instance, agentd_token token, agentd_service_row row) override;
  agentd_status remove_service(Instance& instance, agentd_token token, std::string_view interface_id,
                               std::string_view operation) override;
  void forget_old_tools(Instance& instance);
  template <typename Table>
  const Table* own_table(std::string_view id) const;

  const std::string path_, name_;
  const Precedence precedence_;
  const Manifest manifest_;
  const PluginConfig config_;
  const WorkerPlacing placing_;
  SealedFile sealed_;
  TokenTable& tokens_;
  const std::shared_ptr<BodyBudget> bodies_ = std::make_shared<BodyBudget>();
  const Clock& clock_;
  Log& log_;
  const std::shared_ptr<Quarantine> quarantine_;  // its last workers may outlive its host
  std::unique_ptr<PluginContext> context_;
  Booted booted_;  // of the first worker
  BootArgs boot_;  // its texts are in the members that follow
  std::vector<std::string> interface_ids_;
  std::vector<std::string> capability_names_;  // those of the manifest that are in effect
  std::vector<agentd_str> interfaces_, capabilities_, roots_;
  std::vector<std::unique_ptr<Row>> rows_;
  CrashBook crashes_;
  ServiceGate gate_;

  mutable Mutex mutex_;
  std::map<agentd_conv, InstancePtr> instances_ GUARDED_BY(mutex_);
  Condition idle_;                             // an instance may have become idle
  std::uint64_t uses_ GUARDED_BY(mutex_) = 0;  // a counter for least recent use
  bool created_ GUARDED_BY(mutex_) = false;
  // Held while tools are moved to a new worker, so that no reader sees them missing.
  mutable Mutex tools_mutex_;
  std::atomic<std::uint32_t> starting_{0};  // processes being started
  std::atomic<bool> ending_{false};         // no call needs a worker any more
  Aside evictions_;                         // they use the members above
  Aside starts_{SIZE_MAX};                  // at most one per instance
};

}  // namespace agentd
