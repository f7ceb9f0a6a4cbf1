// SPDX-License-Identifier: Apache-2.0
#include "core/workers/worker_plugin.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/base/bytes.h"
#include "core/base/hash.h"
#include "core/base/mutex.h"
#include "core/base/shell_word.h"
#include "core/bridge/limits.h"
#include "core/trust/quarantine.h"

namespace agentd {
namespace {

std::vector<agentd_str> texts(const std::vector<std::string>& from) {
  std::vector<agentd_str> out;
  for (const std::string& text : from) out.push_back(to_abi(text));
  return out;
}

// The granted interfaces that the host offers.
std::vector<std::string> interfaces_of(const Grants& grants, const PluginEnvironment& environment) {
  std::vector<std::string> offered{AGENTD_TOOLS_ID, AGENTD_JSON_ID, AGENTD_FIELD_ID, AGENTD_TASKS_ID,
                                   AGENTD_PROVIDE_ID};
  if (environment.registry != nullptr) offered.emplace_back(AGENTD_SERVICES_ID);
  for (const auto& [id, table] : environment.interfaces) offered.push_back(id);
  std::erase_if(offered, [&](const std::string& id) { return !grants.interfaces.contains(id); });
  return offered;
}

constexpr Milliseconds kPluginSlice{20};  // how often a cancel word is checked

agentd_list list_of(const std::vector<agentd_str>& from) {
  return {from.data(), static_cast<std::uint32_t>(from.size()), sizeof(agentd_str)};
}

}  // namespace

// ---- load

std::string no_worker(const WorkerOptions& options, const HookFile& file) {
  if (!options.program.empty() && ::access(options.program.c_str(), X_OK) == 0) return {};
  return file.path +
         " is not loaded: its program agentd-hook-worker is missing: install it next to agentd, or set hooks." +
         file.name + ".isolation to 'in-process'";
}

WorkerPlugin::WorkerPlugin(const HookFile& file, SealedFile sealed, Manifest manifest, const PluginConfig& config,
                           const PluginEnvironment& environment, WorkerPlacing placing)
    : path_(file.path),
      name_(file.name),
      precedence_(file.precedence),
      manifest_(std::move(manifest)),
      config_(config),
      placing_(std::move(placing)),
      sealed_(std::move(sealed)),
      tokens_(environment.tokens),
      clock_(environment.clock),
      log_(environment.log),
      quarantine_(environment.quarantine),
      crashes_(placing_.options, environment.clock),
      evictions_(placing_.options.conversations_busy_max) {}

WorkerPlugin::~WorkerPlugin() {
  if (auto ended = destroy(); !ended) log_.write(LogLevel::kWarning, name_, ended.error().message);
}

Result<std::shared_ptr<WorkerPlugin>> WorkerPlugin::load(const HookFile& file, SealedFile sealed, Manifest manifest,
                                                         Grants grants, const PluginConfig& config,
                                                         const PluginEnvironment& environment, WorkerPlacing placing) {
  discard(sealed);  // the open descriptor is enough
  if (std::string why = no_worker(placing.options, file); !why.empty()) return Error{Code::kNotFound, std::move(why)};
  std::shared_ptr<WorkerPlugin> plugin(
      new WorkerPlugin(file, std::move(sealed), std::move(manifest), config, environment, std::move(placing)));
  if (auto started = plugin->start(file, std::move(grants), environment); !started)
    return Error{started.error().code, file.path + " " + started.error().message};
  plugin->start_when_expected();
  return plugin;
}

// The error messages complete the sentence "FILE ...".
Result<void> WorkerPlugin::start(const HookFile& file, Grants grants, const PluginEnvironment& environment) {
  interface_ids_ = interfaces_of(grants, environment);
  interfaces_ = texts(interface_ids_);
  boot_.services =
      (grants.compactor ? kBootCompactor : 0) | (grants.threads ? kBootThreads : 0) | (grants.store ? kBootStore : 0);
  // A repository's manifest opens nothing without a grant.
  for (const std::string& each : manifest_.capabilities)
    if (precedence_ != Precedence::kProject || (config_.grants && config_.grants->contains(each)))
      capability_names_.push_back(each);
  capabilities_ = texts(capability_names_);
  roots_ = texts(placing_.roots);
  boot_.name = to_abi(name_);
  boot_.interfaces = list_of(interfaces_);
  boot_.capabilities = list_of(capabilities_);
  boot_.readable = boot_.writable = list_of(roots_);
  boot_.memory_bytes_max = placing_.options.memory_bytes_max;
  boot_.unconfined = config_.sandbox ? 0 : 1;
  ProcessPtr process;
  const auto known =
      placing_.records != nullptr && may_wait() ? placing_.records->find(path_, record_key()) : std::nullopt;
  if (known) {
    booted_ = *known;
  } else {
    AGENTD_TRY(process, start_first());
  }
  AGENTD_TRY_VOID(check(booted_));
  set_up(file, std::move(grants), environment);
  const auto instance = std::make_shared<Instance>(static_cast<InstanceTools&>(*this), true);
  {
    const MutexLock lock(mutex_);
    instances_.emplace(0, instance);
  }
  if (process) {
    process->attach(*context_, *instance);
    agentd_status said = AGENTD_OK;
    auto created = create(*process, placing_.options.control_time, &said);
    if (!created && said == AGENTD_E_ARG) tell_refusal(config_, name_, created.error());
    {
      const MutexLock lock(instance->mutex);
      instance->process = std::move(process);
    }
    if (!created) return Error{created.error().code, "could not start: " + created.error().message};
    keep_record();
  }
  const MutexLock lock(mutex_);
  created_ = true;
  return {};
}

Result<WorkerPlugin::ProcessPtr> WorkerPlugin::start_first() {
  AGENTD_TRY(ProcessPtr process, WorkerProcess::start(setup()));
  booted_ = process->booted();
  if (!booted_.sandbox.empty()) log_.write(LogLevel::kWarning, name_, path_ + ": " + booted_.sandbox);
  return process;
}

void WorkerPlugin::set_up(const HookFile& file, Grants grants, const PluginEnvironment& environment) {
  context_ = std::make_unique<PluginContext>(PluginIdentity{booted_.id, booted_.version, file.name, sealed_.digest},
                                             std::move(grants), environment.tokens, environment.services,
                                             environment.clock, environment.log);
  for (const auto& [id, table] : environment.interfaces) context_->offer(id, table);
  context_->call_services_of(environment.registry, environment.project_id);
  for (std::uint32_t i = 0; i < booted_.rows.size(); ++i)
    rows_.push_back(std::make_unique<Row>(Row{this, i, booted_.rows[i]}));
}

// Tools, services and tasks must be available before the first event.
bool WorkerPlugin::may_wait() const {
  return std::none_of(interface_ids_.begin(), interface_ids_.end(), [](const std::string& id) {
    return id == AGENTD_TOOLS_ID || id == AGENTD_TASKS_ID || id == AGENTD_PROVIDE_ID;
  });
}

std::string WorkerPlugin::record_key() const {
  std::string all = sealed_.digest + "\n" + std::to_string(isolation_number()) + "\n" + std::to_string(boot_.services) +
                    "\n" + std::to_string(boot_.unconfined) + "\n" + std::to_string(boot_.memory_bytes_max) + "\n" +
                    std::to_string(kWorkerProtocol) + "\n" + manifest_.id + "\n";
  struct stat program {};
  if (::stat(placing_.options.program.c_str(), &program) == 0)
    all += std::to_string(program.st_ino) + " " + std::to_string(program.st_size) + " " +
           std::to_string(program.st_mtim.tv_sec) + " " + std::to_string(program.st_mtim.tv_nsec);
  for (const auto* const list : {&interface_ids_, &capability_names_, &placing_.roots}) {
    all += "\n";
    for (const std::string& each : *list) all += std::to_string(each.size()) + ":" + each;
  }
  return hex(sha256(all + "\n" + config_.config_json));
}

// With an incomplete sandbox no record is kept, so that each start reports it.
void WorkerPlugin::keep_record() {
  if (placing_.records == nullptr || !may_wait() || !booted_.sandbox.empty()) return;
  if (auto kept = placing_.records->keep(path_, record_key(), booted_); !kept)
    log_.write(LogLevel::kInfo, name_, "its worker will start at load next time too: " + kept.error().message);
}

// A worker for one conversation starts when the conversation is known.
void WorkerPlugin::start_when_expected() {
  const bool expected = std::any_of(booted_.rows.begin(), booted_.rows.end(), [&](const RowInfo& row) {
    return std::find(placing_.expected.begin(), placing_.expected.end(), row.event) != placing_.expected.end();
  });
  if (!expected || placing_.isolation != Isolation::kProcess || primary().process) return;
  InstancePtr instance;
  {
    const MutexLock lock(mutex_);
    instance = instances_.at(0);
  }
  const MutexLock lock(instance->mutex);
  // On failure the first call that needs the worker reports it.
  (void)begin_start(instance);
}

Result<WorkerPlugin::ProcessPtr> WorkerPlugin::start_primary(agentd_live& live) {
  InstancePtr instance;
  {
    const MutexLock lock(mutex_);
    const auto found = instances_.find(0);
    if (!created_ || found == instances_.end()) return Error{Code::kInternal, "the hook " + name_ + " has ended"};
    instance = found->second;
  }
  return process_of(instance, live);
}

WorkerSetup WorkerPlugin::setup() const {
  const bool serial = manifest_.declares_serial();
  return {*placing_.supervisor,
          tokens_,
          clock_,
          log_,
          placing_.options,
          name_,
          sealed_.fd.get(),
          serial ? 1 : AnswerRegion::kCallLanesMax,
          bodies_,
          boot_};
}

Result<void> WorkerPlugin::check(const Booted& booted) const {
  if (booted.id != manifest_.id)
    return Error{Code::kInvalid, "has the id " + booted.id + ", but its manifest has " + manifest_.id +
                                     ": give both the same id and rebuild it"};
  return {};
}

std::uint32_t WorkerPlugin::isolation_number() const {
  return placing_.isolation == Isolation::kProcessPerConversation ? AGENTD_ISOLATION_PROCESS_PER_CONVERSATION
                                                                  : AGENTD_ISOLATION_PROCESS;
}

Result<std::vector<Action>> WorkerPlugin::control(WorkerProcess& process, std::uint32_t event, const void* payload,
                                                  Milliseconds at_most, agentd_status* said) {
  agentd_status status = AGENTD_OK;
  auto actions = context_->control(event, payload, Deadline::after(clock_, at_most),
                                   [&](const agentd_call* call) { return status = process.call(*call, {}); });
  if (said != nullptr) *said = status;
  // Memory may be short on either side; a later call may succeed.
  if (!actions && status == AGENTD_E_NOMEM) return Error{Code::kUnavailable, actions.error().message};
  return actions;
}

Result<void> WorkerPlugin::create(WorkerProcess& process, Milliseconds at_most, agentd_status* said) {
  agentd_create_info info{};
  info.size = sizeof info;
  info.isolation = isolation_number();
  info.config_json = to_abi(config_.config_json);
  AGENTD_TRY_VOID(control(process, AGENTD_EVENT_CREATE, &info, at_most, said));
  return {};
}

// ---- what the dispatcher sees

std::vector<Subscription> WorkerPlugin::subscriptions() const {
  std::vector<Subscription> out;
  for (const auto& row : rows_) {
    Subscription each;
    each.event = row->info.event;
    each.flags = subscription_flags(manifest_, row->info.flags);
    each.priority = row->info.priority;
    each.wants = row->info.wants;
    each.precedence = precedence_;
    each.on_failure = failure_policy(manifest_, row->info.flags, config_.on_failure);
    // Calls queue for the worker's lanes. A serial plugin has one lane, which a pending call frees.
    each.concurrency = AGENTD_CONCURRENT;
    each.name = identity().name;
    each.plugin = identity().id;
    each.bytes_digest = identity().bytes_digest;
    each.config_digest = hex(sha256(config_.config_json));
    each.fn = call_row;
    each.self = row.get();
    each.core = context_->core();
    each.services = context_->services();
    each.stopped = context_->stopped();
    each.owner = shared_from_this();
    out.push_back(std::move(each));
  }
  return out;
}

agentd_status AGENTD_CALL WorkerPlugin::call_row(void* self, const agentd_call* call) noexcept {
  const Row& row = *static_cast<const Row*>(self);
  return row.plugin->run(*call, {row.index});
}

agentd_status AGENTD_CALL WorkerPlugin::call_tool_row(void* self, const agentd_call* call) noexcept {
  const ToolSelf& tool = *static_cast<const ToolSelf*>(self);
  return tool.plugin->run(*call, {0, &tool.name});
}

agentd_status AGENTD_CALL WorkerPlugin::call_service_row(void* self, const agentd_call* call) noexcept {
  const ServiceSelf& service = *static_cast<const ServiceSelf*>(self);
  return service.plugin->run(*call, {0, nullptr, &service.name});
}

agentd_status WorkerPlugin::run(const agentd_call& call, const Wanted& wanted) {
  CallSlot* const slot = tokens_.find(call.token);
  if (slot == nullptr) return AGENTD_E_NOT_FOUND;
  const auto failed = [&](const Error& error) {
    if (!error.message.empty()) slot->fail(call.token, AGENTD_E_INTERNAL, {error.message, FailureText::kAll});
    if (error.message.empty()) return is_cancelled(*call.live) ? AGENTD_E_CANCELLED : AGENTD_E_DEADLINE;
    return AGENTD_E_INTERNAL;
  };
  if (context_->stopped()->load() == kHookEnded) return failed({Code::kInternal, "the hook " + name_ + " has ended"});
  const Use use = use_instance(call);
  const InstancePtr& instance = use.instance;
  if (!instance) {
    if (is_cancelled(*call.live)) return AGENTD_E_CANCELLED;
    slot->fail(call.token, AGENTD_E_DEADLINE,
               {"its workers of " + std::to_string(placing_.options.conversations_busy_max) +
                    " other conversations, as many as may run calls at once, were busy until its deadline",
                FailureText::kAll});
    return AGENTD_E_DEADLINE;
  }
  const auto process = process_of(instance, *call.live);
  if (!process) return failed(process.error());
  const agentd_status status = run_in(*instance, **process, call, wanted);
  if (!(*process)->usable()) note_end(*instance);
  return status;
}

// The record of a tool's or a service's call gets the number by which this worker knows it.
agentd_status WorkerPlugin::run_in(Instance& instance, WorkerProcess& process, const agentd_call& call,
                                   const Wanted& wanted) {
  CallSlot* const slot = tokens_.find(call.token);
  if (slot == nullptr) return AGENTD_E_NOT_FOUND;
  const Dispatch* const dispatch = slot->dispatch();
  const WorkerProcess::Target target{wanted.row, dispatch == nullptr ? 0 : dispatch->lineage};
  const auto with_number = [&](auto payload, const auto& numbers, const auto& name, auto member,
                               const std::string& what) {
    {
      const MutexLock lock(tools_mutex_);
      const auto found = numbers.find(name);
      if (found == numbers.end()) {
        slot->fail(call.token, AGENTD_E_NOT_FOUND, "the worker of " + name_ + " no longer has " + what);
        return agentd_status{AGENTD_E_NOT_FOUND};
      }
      payload.*member = found->second;
    }
    agentd_call mine = call;
    mine.payload = &payload;
    return process.call(mine, target);
  };
  if (wanted.tool != nullptr)
    return with_number(*static_cast<const agentd_tool_call*>(call.payload), instance.tools, *wanted.tool,
                       &agentd_tool_call::tool, "a tool " + *wanted.tool);
  if (wanted.service != nullptr)
    return with_number(*static_cast<const agentd_service_call*>(call.payload), instance.services, *wanted.service,
                       &agentd_service_call::tag,
                       "the operation " + wanted.service->second + " of " + wanted.service->first);
  return process.call(call, target);
}

// ---- instances and their processes

WorkerPlugin::Use WorkerPlugin::use_instance(const agentd_call& call) {
  const bool apart = placing_.isolation == Isolation::kProcessPerConversation;
  std::vector<InstancePtr> surplus;
  InstancePtr instance = wait_for_instance(apart ? call.conversation : 0, *call.live, surplus);
  for (InstancePtr& each : surplus) evict(std::move(each));
  return {*this, std::move(instance)};
}

// Null if there was no place for another conversation until the deadline or the cancel.
WorkerPlugin::InstancePtr WorkerPlugin::wait_for_instance(agentd_conv key, const agentd_live& live,
                                                          std::vector<InstancePtr>& surplus) {
  const WorkerOptions& options = placing_.options;
  const MutexLock lock(mutex_);
  for (;;) {
    auto found = instances_.find(key);
    if (found == instances_.end()) {
      // Room for it, as far as others are idle.
      for (InstancePtr& each : take_idle(std::min(options.conversations_max - 1, options.conversations_busy_max)))
        surplus.push_back(std::move(each));
      if (key == 0 || ending_ || instances_.size() <= options.conversations_busy_max)
        found = instances_.emplace(key, std::make_shared<Instance>(static_cast<InstanceTools&>(*this), key == 0)).first;
    }
    if (found != instances_.end()) {
      found->second->last_use = ++uses_;
      return found->second;
    }
    const Deadline deadline{deadline_of(live)};
    if (deadline.passed(clock_) || cancel_of(live) != 0) return nullptr;
    idle_.wait_for(mutex_, clock_, std::clamp(deadline.left(clock_), Milliseconds(1), kPluginSlice));
  }
}

WorkerPlugin::Use::~Use() { plugin.end_use(std::move(instance)); }

// Calls of many conversations at once have made more workers than are kept.
void WorkerPlugin::end_use(InstancePtr instance) {
  instance.reset();
  if (placing_.isolation != Isolation::kProcessPerConversation) return;
  std::vector<InstancePtr> surplus;
  {
    const MutexLock lock(mutex_);
    surplus = take_idle(placing_.options.conversations_max);
  }
  idle_.notify_one();
  for (InstancePtr& each : surplus) evict(std::move(each));
}

// The call that needs the room does not wait for this. If too many evictions run already, the worker ends without
// destroy().
void WorkerPlugin::evict(InstancePtr instance) {
  const auto tell = [this](const std::string& what) {
    log_.write(LogLevel::kWarning, name_, "evicted for another conversation: " + what);
  };
  const Deadline deadline = Deadline::after(clock_, placing_.options.eviction_time);
  const bool on_its_way = evictions_.run([this, tell, instance, deadline] {
    auto ended = end_instance(*instance, deadline, EndKind::kCutShort);
    if (!ended) tell(ended.error().message);
  });
  if (!on_its_way) tell("the worker ended without destroy(), since too many are ending");
}

// Removes the least recently used idle instances while there are more than `keep`.
std::vector<WorkerPlugin::InstancePtr> WorkerPlugin::take_idle(std::size_t keep) {
  std::vector<InstancePtr> out;
  if (instances_.size() <= keep) return out;
  std::vector<std::pair<std::uint64_t, agentd_conv>> idle;
  for (const auto& [key, instance] : instances_)
    if (key != 0 && instance.use_count() == 1) idle.emplace_back(instance->last_use, key);
  std::sort(idle.begin(), idle.end());
  for (const auto& [last_use, key] : idle) {
    if (instances_.size() <= keep) break;
    const auto found = instances_.find(key);
    out.push_back(std::move(found->second));
    instances_.erase(found);
  }
  return out;
}

// True if the worker must be told: it has a destroy(), or tasks to end. All others are just killed.
bool WorkerPlugin::hears_of_its_end() const {
  return (booted_.functions & kBootedDestroy) != 0 ||
         std::find(interface_ids_.begin(), interface_ids_.end(), AGENTD_TASKS_ID) != interface_ids_.end();
}

Result<void> WorkerPlugin::end_instance(Instance& instance, Deadline deadline, EndKind hang) {
  ProcessPtr process;
  bool counted = false;
  {
    const MutexLock lock(instance.mutex);
    process = std::move(instance.process);
    counted = instance.counted;
  }
  if (!process) return {};
  Result<void> out;
  const bool alive = process->usable();
  if (alive) {
    if (!hears_of_its_end()) return {};
    auto destroyed = control(*process, AGENTD_EVENT_DESTROY, nullptr, deadline.left(clock_));
    if (destroyed) return {};
    out = destroyed.error();
  }
  const auto end = process->ended();
  if (!end || counted) return out;
  count_end(end->at_ns, alive && end->kind == EndKind::kHang ? hang : end->kind, end->cause);
  return out;
}

// Records the end of the instance's process once.
void WorkerPlugin::note_end(Instance& instance) {
  std::optional<WorkerEnd> end;
  {
    const MutexLock lock(instance.mutex);
    if (!instance.process || instance.counted) return;
    end = instance.process->ended();
    if (!end) return;
    instance.counted = true;
  }
  count_end(end->at_ns, end->kind, end->cause);
}

void WorkerPlugin::count_end(std::uint64_t at_ns, EndKind kind, std::string_view cause) {
  std::size_t told = 0;
  if (quarantine_ != nullptr && (kind == EndKind::kCrash || kind == EndKind::kHang)) {
    // A single run may be too short to see several crashes, so those of earlier runs count.
    const auto noted = quarantine_->note_crash(sealed_.digest, placing_.options.crash_window);
    if (noted)
      told = *noted;
    else
      log_.write(LogLevel::kInfo, name_, "this crash cannot be recorded for later runs: " + noted.error().message);
  }
  if (!crashes_.note(at_ns, kind, cause, told)) return;
  log_.write(LogLevel::kError, name_, path_ + " " + set_aside_error().message);
  if (quarantine_ == nullptr) return;
  auto kept = quarantine_->set_aside({name_, path_, sealed_.digest, crashes_.set_aside(), clock_.wall_ms()});
  if (!kept) log_.write(LogLevel::kError, name_, kept.error().message);
}

Error WorkerPlugin::set_aside_error() const {
  return {Code::kInternal, "is quarantined: it " + crashes_.set_aside() + "; fix it, or run " +
                               shell_command("agentd hooks release", name_)};
}

// ---- tools

std::vector<PluginTool> WorkerPlugin::tools() const {
  const MutexLock lock(tools_mutex_);
  return context_->tools();
}

Result<ToolOutcome> WorkerPlugin::call_tool(const PluginTool& tool, const ToolCall& call, const SessionContext& session,
                                            const CancelToken& cancel, Deadline deadline) {
  ToolSelf self{this, tool.tool.name};
  return context_->call_tool(tool, &self, call, session, cancel, deadline);
}

std::vector<OfferedService> WorkerPlugin::services() const {
  const MutexLock lock(tools_mutex_);
  return context_->provided();
}

ServiceAnswer WorkerPlugin::call_service(const OfferedService& service, const ServiceRequest& request) {
  const ServiceGate::Use inside(gate_);
  if (!inside) return ServiceError{AGENTD_E_UNSUPPORTED, "the plugin " + identity().id + " has ended"};
  ServiceSelf self{this, {service.interface_id, service.operation}};
  return context_->call_service(service, &self, request);
}

template <typename Table>
const Table* WorkerPlugin::own_table(std::string_view id) const {
  const agentd_core* const core = context_->core();
  return static_cast<const Table*>(core->query(core, to_abi(id), sizeof(Table)));
}

// The primary instance's tools are the plugin's; the other instances have the same tools under their own numbers.
agentd_status WorkerPlugin::add_tool(Instance& instance, agentd_token token, agentd_tool tool) {
  const auto* const table = own_table<agentd_tools>(AGENTD_TOOLS_ID);
  if (table == nullptr) return AGENTD_E_DENIED;
  const std::string name(view_of(tool.name));
  tool.fn = call_tool_row;
  const MutexLock lock(tools_mutex_);
  if (instance.tools.contains(name)) return AGENTD_E_CONFLICT;
  if (instance.tools.size() >= kPluginToolsMax && !instance.primary()) return AGENTD_E_TOO_BIG;
  if (instance.old_tools.erase(name) != 0 && instance.primary()) (void)table->remove(table, token, tool.name);
  const agentd_status status = table->add(table, token, &tool);
  const bool known = status == AGENTD_OK || (status == AGENTD_E_CONFLICT && !instance.primary());
  if (!known) return status;
  instance.tools[name] = tool.tag;
  return AGENTD_OK;
}

agentd_status WorkerPlugin::remove_tool(Instance& instance, agentd_token token, std::string_view name) {
  const auto* const table = own_table<agentd_tools>(AGENTD_TOOLS_ID);
  if (table == nullptr) return AGENTD_E_DENIED;
  const MutexLock lock(tools_mutex_);
  if (instance.tools.erase(std::string(name)) == 0) return AGENTD_E_NOT_FOUND;
  return instance.primary() ? table->remove(table, token, to_abi(name)) : AGENTD_OK;
}

agentd_status WorkerPlugin::add_service(Instance& instance, agentd_token token, agentd_service_row row) {
  const auto* const table = own_table<agentd_provide>(AGENTD_PROVIDE_ID);
  if (table == nullptr) return AGENTD_E_DENIED;
  const Instance::ServiceName name{view_of(row.interface_id), view_of(row.operation)};
  row.fn = call_service_row;
  const MutexLock lock(tools_mutex_);
  if (instance.services.contains(name)) return AGENTD_E_CONFLICT;
  if (instance.services.size() >= AGENTD_SERVICE_ROWS_MAX && !instance.primary()) return AGENTD_E_TOO_BIG;
  if (instance.old_services.erase(name) != 0 && instance.primary())
    (void)table->remove(table, token, row.interface_id, row.operation);
  const agentd_status status = table->add(table, token, &row);
  const bool known = status == AGENTD_OK || (status == AGENTD_E_CONFLICT && !instance.primary());
  if (!known) return status;
  instance.services[name] = row.tag;
  return AGENTD_OK;
}

agentd_status WorkerPlugin::remove_service(Instance& instance, agentd_token token, std::string_view interface_id,
                                           std::string_view operation) {
  const auto* const table = own_table<agentd_provide>(AGENTD_PROVIDE_ID);
  if (table == nullptr) return AGENTD_E_DENIED;
  const MutexLock lock(tools_mutex_);
  if (instance.services.erase({std::string(interface_id), std::string(operation)}) == 0) return AGENTD_E_NOT_FOUND;
  return instance.primary() ? table->remove(table, token, to_abi(interface_id), to_abi(operation)) : AGENTD_OK;
}

// Removes tools and services that the new process did not register again.
void WorkerPlugin::forget_old_tools(Instance& instance) {
  const auto* const tools = own_table<agentd_tools>(AGENTD_TOOLS_ID);
  const auto* const provide = own_table<agentd_provide>(AGENTD_PROVIDE_ID);
  const MutexLock lock(tools_mutex_);
  for (const std::string& name : std::exchange(instance.old_tools, {}))
    if (tools != nullptr && instance.primary()) (void)tools->remove(tools, 0, to_abi(name));
  for (const auto& [interface_id, operation] : std::exchange(instance.old_services, {}))
    if (provide != nullptr && instance.primary())
      (void)provide->remove(provide, 0, to_abi(interface_id), to_abi(operation));
}

// ---- state and end

Result<std::optional<std::string>> WorkerPlugin::save_state() {
  const Primary to = primary();
  if (!to.process || (booted_.functions & kBootedSaveState) == 0) return std::optional<std::string>();
  AGENTD_TRY(std::vector<Action> actions,
             control(*to.process, AGENTD_EVENT_SAVE_STATE, nullptr, placing_.options.control_time));
  std::string state;
  for (Action& action : actions)
    if (action.kind == AGENTD_ACT_STATE) state = std::move(action.text);
  return std::optional(std::move(state));
}

Result<void> WorkerPlugin::load_state(std::string_view state, std::string_view previous_version) {
  if ((booted_.functions & kBootedLoadState) == 0) return {};
  agentd_live live{};
  set_deadline(live, Deadline::after(clock_, placing_.options.control_time).at_ns);
  AGENTD_TRY_VOID(start_primary(live));
  const Primary to = primary();
  if (!to.process) return {};
  agentd_create_info info{};
  info.size = sizeof info;
  info.isolation = isolation_number();
  info.config_json = to_abi(config_.config_json);
  info.state = to_abi(state);
  info.previous_version = to_abi(previous_version);
  AGENTD_TRY_VOID(control(*to.process, AGENTD_EVENT_LOAD_STATE, &info, placing_.options.control_time));
  return {};
}

// The process is null if it has ended: there is then no state to ask for.
WorkerPlugin::Primary WorkerPlugin::primary() {
  const MutexLock lock(mutex_);
  const auto found = instances_.find(0);
  if (!created_ || found == instances_.end()) return {};
  const InstancePtr instance = found->second;
  const MutexLock inner(instance->mutex);
  if (!instance->process || !instance->process->usable()) return {};
  return {instance, instance->process};
}

void WorkerPlugin::end_soon() {
  ending_ = true;
  if (hears_of_its_end()) return;
  const MutexLock lock(mutex_);
  for (const auto& [conversation, instance] : instances_) {
    const MutexLock inner(instance->mutex);
    if (instance->process) instance->process->end_soon();
  }
}

bool WorkerPlugin::waits_to_end() const { return starting_ != 0 || (hears_of_its_end() && !pids().empty()); }

Result<void> WorkerPlugin::destroy() {
  std::map<agentd_conv, InstancePtr> instances;
  bool created = false;
  {
    const MutexLock lock(mutex_);
    instances.swap(instances_);
    created = std::exchange(created_, false);
  }
  ending_ = true;
  // A call that still runs then ends with its worker.
  (void)gate_.close(clock_, placing_.options.control_time);
  starts_.wait();
  if (context_) context_->stopped()->store(kHookEnded);
  Result<void> out = created ? end_all(instances) : Result<void>();
  evictions_.wait();
  return out;
}

// Ends all instances in parallel, with one deadline. Returns the first error.
Result<void> WorkerPlugin::end_all(const std::map<agentd_conv, InstancePtr>& instances) {
  const Deadline deadline = Deadline::after(clock_, placing_.options.control_time);
  Mutex mutex;
  Result<void> out;
  Aside ends(instances.size());
  std::size_t left = instances.size();
  for (const auto& [conversation, instance] : instances) {
    const auto end = [&, instance = instance.get()] {
      auto ended = end_instance(*instance, deadline, EndKind::kHang);
      const MutexLock lock(mutex);
      if (!ended && out) out = ended.error();
    };
    if (--left == 0 || !ends.run(end)) end();
  }
  ends.wait();
  return out;
}

std::vector<pid_t> WorkerPlugin::pids() const {
  const MutexLock lock(mutex_);
  std::vector<pid_t> out;
  for (const auto& [conversation, instance] : instances_) {
    const MutexLock inner(instance->mutex);
    if (instance->process) out.push_back(instance->process->pid());
  }
  return out;
}

}  // namespace agentd
