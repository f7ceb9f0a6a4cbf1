// SPDX-License-Identifier: Apache-2.0
#include "core/native/native_plugin.h"
#include "core/base/hash.h"

#include "core/base/for_ever.h"
#include "core/base/mutex.h"
#include "core/conversation/rows.h"
#include "core/trust/quarantine.h"

namespace agentd {
namespace {

Error at(const std::string& path, const Error& error) { return {error.code, path + " " + error.message}; }

}  // namespace

NativePlugin::NativePlugin(const HookFile& file, Manifest manifest, const PluginConfig& config,
                           const PluginEnvironment& environment)
    : path_(file.path),
      precedence_(file.precedence),
      manifest_(std::move(manifest)),
      name_(file.name),
      config_json_(config.config_json),
      on_failure_(config.on_failure),
      clock_(environment.clock),
      log_(environment.log) {}

// The last reference may be released on any thread, long after the host has dropped the instance.
NativePlugin::~NativePlugin() {
  if (auto ended = destroy(); !ended) log_.write(LogLevel::kError, name_, ended.error().message);
  if (context_ && (leaks_ || context_->gave_up())) PluginContext::abandon(std::move(context_));
}

Result<std::shared_ptr<NativePlugin>> NativePlugin::load(const HookFile& file, SealedFile sealed, Manifest manifest,
                                                         Grants grants, const PluginConfig& config,
                                                         const PluginEnvironment& environment) {
  const std::string digest = sealed.digest;
  // The marker covers all module code that runs until the instance exists; if it cannot be written, there is none. A
  // bundled module is trusted like the program, and a kill during the start says nothing about it.
  const bool marks = environment.quarantine != nullptr && !file.bundled;
  const Result<Quarantine::Marker> marker =
      marks ? environment.quarantine->mark(file.name, file.path, digest) : Quarantine::Marker();
  if (!marker) environment.log.write(LogLevel::kInfo, "host", marker.error().message);
  auto entry = open_module(std::move(sealed.fd), sealed.path);
  discard(sealed);  // the name of a private copy is not needed after the mapping
  if (!entry) return at(file.path, entry.error());
  std::shared_ptr<NativePlugin> plugin(new NativePlugin(file, std::move(manifest), config, environment));
  auto record = read_plugin(*entry);
  if (!record) return at(file.path, record.error());
  plugin->record_ = std::move(*record);
  if (plugin->record_.id != plugin->manifest_.id)
    return Error{Code::kInvalid, file.path + " has the id " + plugin->record_.id + ", but its manifest has " +
                                     plugin->manifest_.id + ": give both the same id and rebuild it"};
  if (plugin->record_.plugin.concurrency != AGENTD_CONCURRENT) plugin->turn_ = std::make_shared<Mutex>();
  plugin->context_ = std::make_unique<PluginContext>(
      PluginIdentity{plugin->record_.id, plugin->record_.version, file.name, digest}, std::move(grants),
      environment.tokens, environment.services, environment.clock, environment.log);
  for (const auto& [id, table] : environment.interfaces) plugin->context_->offer(id, table);
  plugin->context_->call_services_of(environment.registry, environment.project_id);
  environment.tokens.watch(environment.clock);
  auto created = plugin->create(config);
  if (!created) return Error{created.error().code, file.path + " could not start: " + created.error().message};
  return plugin;
}

Result<void> NativePlugin::create(const PluginConfig& config) {
  agentd_create_info info{};
  info.size = sizeof(info);
  info.isolation = AGENTD_ISOLATION_IN_PROCESS;
  info.config_json = to_abi(config.config_json);
  agentd_status status = AGENTD_OK;
  auto answer =
      context_->control(AGENTD_EVENT_CREATE, &info, Deadline::after(clock_, kControlTime),
                        [&](const agentd_call* call) { return status = record_.plugin.create(call, &self_); });
  if (!answer) {
    if (status == AGENTD_E_ARG) tell_refusal(config, identity().name, answer.error());
    // An instance that create() refused is not destroyed, but tasks that it started end.
    if (auto ended = end_tasks("destroy()"); !ended) log_.write(LogLevel::kError, name_, ended.error().message);
    return answer.error();
  }
  created_ = true;
  return {};
}

std::vector<Subscription> NativePlugin::subscriptions() const {
  std::vector<Subscription> out;
  for (const agentd_hook& row : record_.rows) {
    Subscription each;
    each.event = row.event;
    each.flags = subscription_flags(manifest_, row.flags);
    each.priority = row.priority;
    each.wants = row.wants;
    each.precedence = precedence_;
    each.on_failure = failure_policy(manifest_, row.flags, on_failure_);
    each.concurrency = record_.plugin.concurrency;
    each.name = identity().name;
    each.plugin = identity().id;
    each.bytes_digest = identity().bytes_digest;
    each.config_digest = hex(sha256(config_json_));
    each.fn = row.fn;
    each.self = self_;
    each.core = context_->core();
    each.services = context_->services();
    each.stopped = context_->stopped();
    each.turn = turn_;
    each.owner = shared_from_this();
    out.push_back(std::move(each));
  }
  return out;
}

Result<ToolOutcome> NativePlugin::call_tool(const PluginTool& tool, const ToolCall& call, const SessionContext& session,
                                            const CancelToken& cancel, Deadline deadline) {
  if (!turn_) return context_->call_tool(tool, self_, call, session, cancel, deadline);
  // Waits in slices, so that a cancelled call leaves the queue.
  constexpr Milliseconds kSlice{20};
  while (!turn_->lock_for(clock_, std::min(kSlice, deadline.left(clock_)))) {
    if (cancel.cancelled()) return Error{Code::kCancelled, call.name + " was cancelled"};
    if (deadline.passed(clock_))
      return Error{Code::kUnavailable, call.name + ": the plugin " + identity().name + " was busy until the deadline"};
  }
  const MutexLock lock(*turn_, kAdopt);
  return context_->call_tool(tool, self_, call, session, cancel, deadline);
}

ServiceAnswer NativePlugin::call_service(const OfferedService& service, const ServiceRequest& request) {
  const ServiceGate::Use inside(gate_);
  if (!inside || context_->stopped()->load() != kHookInUse)
    return ServiceError{AGENTD_E_UNSUPPORTED, "the plugin " + identity().id + " has ended"};
  if (!turn_) return context_->call_service(service, self_, request);
  // Waits in slices, so that a cancelled call leaves the queue.
  constexpr Milliseconds kSlice{20};
  while (!turn_->lock_for(clock_, std::min(kSlice, request.deadline.left(clock_)))) {
    if (request.cancel.cancelled())
      return ServiceError{AGENTD_E_CANCELLED, identity().id + ": cancelled while it waited for another call"};
    if (request.deadline.passed(clock_))
      return ServiceError{AGENTD_E_DEADLINE, identity().id + " was busy with another call until the deadline"};
  }
  const MutexLock lock(*turn_, kAdopt);
  return context_->call_service(service, self_, request);
}

Result<std::optional<std::string>> NativePlugin::save_state() {
  if (!created_ || record_.plugin.save_state == nullptr) return std::optional<std::string>();
  if (!turn_) return ask_for_state();
  if (!turn_->lock_for(clock_, kControlTime))
    return Error{Code::kBusy, path_ + " did not save its state: a call of it is still running"};
  const MutexLock lock(*turn_, kAdopt);
  return ask_for_state();
}

Result<std::optional<std::string>> NativePlugin::ask_for_state() {
  AGENTD_TRY(std::vector<Action> actions,
             context_->control(AGENTD_EVENT_SAVE_STATE, nullptr, Deadline::after(clock_, kControlTime),
                               [this](const agentd_call* call) { return record_.plugin.save_state(self_, call); }));
  std::string state;
  for (Action& action : actions)
    if (action.kind == AGENTD_ACT_STATE) state = std::move(action.text);
  return std::optional(std::move(state));
}

Result<void> NativePlugin::load_state(std::string_view state, std::string_view previous_version) {
  if (!created_ || record_.plugin.load_state == nullptr) return {};
  agentd_create_info info{};
  info.size = sizeof(info);
  info.isolation = AGENTD_ISOLATION_IN_PROCESS;
  info.config_json = to_abi(config_json_);
  info.state = to_abi(state);
  info.previous_version = to_abi(previous_version);
  AGENTD_TRY_VOID(
      context_->control(AGENTD_EVENT_LOAD_STATE, &info, Deadline::after(clock_, kControlTime),
                        [this](const agentd_call* call) { return record_.plugin.load_state(self_, call); }));
  return {};
}

// A running task may still use the instance and everything it refers to.
void NativePlugin::keep_instance() {
  leaks_ = true;
  keep_for_ever(std::shared_ptr<const void>(self_, [](const void*) {}));
}

Result<void> NativePlugin::end_tasks(const std::string& stage) {
  const std::vector<std::string> left = context_->stop_tasks(kControlTime);
  if (left.empty()) return {};
  keep_instance();
  std::string names;
  for (const std::string& each : left) names += (names.empty() ? "" : ", ") + each;
  return Error{Code::kBusy, path_ + ": the task" + (left.size() == 1 ? " " : "s ") + names + " of the hook " + name_ +
                                " did not end within " + std::to_string(kControlTime.count() / 1000) + " s after " +
                                (left.size() == 1 ? "it was" : "they were") + " cancelled: " + stage +
                                " is not called, and the hook's data stays in " +
                                "memory until agentd ends; a task must return when live->cancel is set"};
}

Result<void> NativePlugin::destroy() {
  if (!created_) return {};
  created_ = false;
  const bool still_called = !gate_.close(clock_, kControlTime);
  const bool stuck = still_called || context_->gave_up();
  context_->stopped()->store(stuck ? kHookStuck : kHookEnded);
  AGENTD_TRY_VOID(end_tasks("destroy()"));
  if (stuck) {
    keep_instance();
    return Error{Code::kBusy,
                 path_ + ": a call of the hook " + name_ +
                     " never ended: destroy() is not called, and the hook's data stays in memory until agentd ends"};
  }
  if (record_.plugin.destroy == nullptr) return {};
  auto answer = context_->control(AGENTD_EVENT_DESTROY, nullptr, Deadline::after(clock_, kControlTime),
                                  [this](const agentd_call* call) { return record_.plugin.destroy(self_, call); });
  if (!answer) return answer.error();
  return {};
}

}  // namespace agentd
