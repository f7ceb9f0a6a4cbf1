// SPDX-License-Identifier: Apache-2.0
#include "core/validate/stage.h"

#include <algorithm>

#include "core/base/mutex.h"
#include "core/conversation/rows.h"
#include "core/hooks/dispatcher.h"
#include "core/process/workspace.h"
#include "core/validate/cage.h"
#include "core/validate/sample_services.h"

namespace agentd::validation {
namespace {

using Spy = Instance::Spy;
const Spy& spy_of(const agentd_core* core) { return *reinterpret_cast<const Spy*>(core); }

void AGENTD_CALL spy_fail(const agentd_core* core, agentd_token token, agentd_status status, agentd_str what) noexcept {
  spy_of(core).real->fail(spy_of(core).real, token, status, what);
}
void AGENTD_CALL spy_log(const agentd_core* core, agentd_token token, int32_t level, agentd_str text) noexcept {
  spy_of(core).real->log(spy_of(core).real, token, level, text);
}
const void* AGENTD_CALL spy_query(const agentd_core* core, agentd_str id, uint32_t min_size) noexcept {
  return spy_of(core).real->query(spy_of(core).real, id, min_size);
}
uint32_t AGENTD_CALL spy_event_id(const agentd_core* core, agentd_str name) noexcept {
  return spy_of(core).real->event_id(spy_of(core).real, name);
}
agentd_status AGENTD_CALL spy_emit(const agentd_core* core, agentd_token token, const agentd_action* action) noexcept {
  const Spy& spy = spy_of(core);
  if (spy.deaf) return AGENTD_E_NOMEM;
  const agentd_status status = spy.real->emit(spy.real, token, action);
  if (status == AGENTD_E_UNSUPPORTED) ++spy.seen->illegal;
  if (status == AGENTD_E_ARG) ++spy.seen->malformed;
  if (status == AGENTD_E_NOT_FOUND) ++spy.seen->late;
  return status;
}
void* AGENTD_CALL spy_arena(const agentd_core* core, agentd_token token, size_t bytes, size_t align) noexcept {
  const Spy& spy = spy_of(core);
  return spy.deaf ? nullptr : spy.real->arena(spy.real, token, bytes, align);
}
agentd_status AGENTD_CALL spy_complete(const agentd_core* core, agentd_token token, agentd_status status) noexcept {
  return spy_of(core).real->complete(spy_of(core).real, token, status);
}
agentd_status AGENTD_CALL spy_scope_open(const agentd_core* core, agentd_conv conversation, uint64_t deadline_ns,
                                         agentd_token* out, const agentd_live** live) noexcept {
  return spy_of(core).real->scope_open(spy_of(core).real, conversation, deadline_ns, out, live);
}
void AGENTD_CALL spy_scope_close(const agentd_core* core, agentd_token token) noexcept {
  spy_of(core).real->scope_close(spy_of(core).real, token);
}
uint64_t AGENTD_CALL spy_now_ns(const agentd_core* core) noexcept {
  return spy_of(core).real->now_ns(spy_of(core).real);
}

constexpr agentd_core kSpyTable{sizeof(agentd_core), AGENTD_ABI_MINOR, spy_fail,        spy_log,
                                spy_query,           spy_event_id,     spy_emit,        spy_arena,
                                spy_complete,        spy_scope_open,   spy_scope_close, spy_now_ns};

Grants grants_of(const Manifest& manifest, bool bare) {
  const auto granted = [&](const std::string& id) {
    const auto& required = manifest.required;
    return bare ? std::find(required.begin(), required.end(), id) != required.end() : manifest.asks_for(id);
  };
  Grants out;
  out.compactor = granted("agentd.compactor");
  out.threads = granted("agentd.threads");
  out.store = granted("agentd.store");
  for (const auto* const ids : {&manifest.required, &manifest.wanted, &manifest.drafts})
    for (const std::string& id : *ids)
      if (granted(id)) out.interfaces.insert(id);
  return out;
}

agentd_status AGENTD_CALL watched(void* self, const agentd_call* call) noexcept {
  const auto& row = *static_cast<const Instance::Row*>(self);
  const agentd_status status = row.fn(row.self, call);
  if (status == AGENTD_PENDING) ++row.seen->pending;
  if (status > AGENTD_PENDING || status < AGENTD_E_IO) row.seen->odd_status.store(status);
  return status;
}

class Heard final : public TraceSink {
 public:
  explicit Heard(Answer& out) : out_(out) {}
  void on_hook(const HookTrace& trace) override {
    out_.status = trace.status;
    out_.effect = trace.effect;
    out_.failure = trace.failure;
    out_.note = trace.note;
    out_.took_ms = trace.duration_ns / 1'000'000;
    for (const Action& action : trace.actions) out_.actions.push_back(action_text(action));
  }

 private:
  Answer& out_;
};

}  // namespace

std::string Answer::text() const {
  std::string out = "status " + std::to_string(status) + ", " + std::string(name_of(effect));
  for (const std::string& action : actions) out += ", " + action;
  if (!failure.empty()) out += ", failed: " + failure;
  if (!note.empty()) out += ", note: " + note;
  return out;
}

// ---- the module

Stage::Stage(const Subject& subject) : subject_(subject), services(std::make_unique<SampleServices>()) {
  if (!needs_files(subject.manifest)) return;
  if (auto opened = open_workspace({subject.directory}); opened) {
    workspace = std::move(*opened);
    tables = std::make_unique<ExtTables>(tokens, *workspace, clock);
  }
}
Stage::~Stage() = default;

Result<void> Stage::load() {
  AGENTD_TRY(const ModuleEntry entry, open_module(UniqueFd(subject_.sealed.fd.get()), subject_.sealed.path));
  AGENTD_TRY(record_, read_plugin(entry));
  return {};
}

std::vector<std::uint32_t> Stage::events() const {
  std::vector<std::uint32_t> out;
  for (const agentd_hook& row : record_.rows)
    if (std::find(out.begin(), out.end(), row.event) == out.end()) out.push_back(row.event);
  return out;
}

// ---- an instance

Instance::Instance(Stage& stage, Options options)
    : stage_(stage), in_process_(options.in_process || stage.subject().profile == Isolation::kInProcess) {
  const PluginRecord& record = stage.record();
  context_ = std::make_unique<PluginContext>(
      PluginIdentity{record.id, record.version, stage.subject().name, stage.subject().sealed.digest},
      grants_of(stage.subject().manifest, options.bare), stage.tokens, *stage.services, stage.clock, stage.log);
  if (stage.tables) {
    context_->offer(AGENTD_WORKSPACE_ID, stage.tables->workspace());
    context_->offer(AGENTD_PROCESS_ID, stage.tables->process());
  }
  context_->call_services_of(&stage.registry);
  spy_ = std::make_unique<Spy>(Spy{kSpyTable, context_->core(), seen_.get(), options.deaf});
  if (record.plugin.concurrency != AGENTD_CONCURRENT) turn_ = std::make_shared<Mutex>();
}

Instance::~Instance() { (void)!destroy(); }

agentd_call Instance::through_spy(const agentd_call* call) const {
  agentd_call out = *call;
  out.core = &spy_->table;
  return out;
}

agentd_create_info Instance::create_info() const {
  agentd_create_info info{};
  info.size = sizeof info;
  info.isolation = in_process_ ? AGENTD_ISOLATION_IN_PROCESS : AGENTD_ISOLATION_PROCESS;
  info.config_json = to_abi(stage_.subject().config_json);
  return info;
}

Result<void> Instance::create() {
  const agentd_create_info info = create_info();
  const auto made = context_->control(AGENTD_EVENT_CREATE, &info, Deadline::after(stage_.clock, kControlTime),
                                      [this](const agentd_call* call) {
                                        const agentd_call own = through_spy(call);
                                        return stage_.record().plugin.create(&own, &self_);
                                      });
  if (!made) return made.error();
  created_ = true;
  rows_.clear();
  for (const agentd_hook& row : stage_.record().rows) rows_.push_back({row.fn, self_, seen_.get()});
  return {};
}

Answer Instance::fire(const SampleEvent& sample, const CancelToken& cancel, Milliseconds deadline) {
  std::vector<Subscription> rows;
  const std::vector<agentd_hook>& all = stage_.record().rows;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const agentd_hook& row = all[i];
    if (row.event != sample.event()) continue;
    Subscription each;
    each.event = row.event;
    each.flags = row.flags;
    each.priority = row.priority;
    each.on_failure = failure_policy(stage_.subject().manifest, row.flags, std::nullopt);
    each.wants = row.wants;
    each.concurrency = stage_.record().plugin.concurrency;
    each.name = context_->identity().name;
    each.plugin = context_->identity().id;
    each.fn = watched;
    each.self = &rows_[i];
    each.core = &spy_->table;
    each.services = context_->services();
    each.stopped = context_->stopped();
    each.turn = turn_;
    rows.push_back(std::move(each));
  }
  const Snapshot snapshot(std::move(rows), {}, stage_.clock);
  const SlotLease slot(stage_.tokens);
  const CancelBinding binding(*slot, cancel);
  Dispatch event;
  event.event = sample.event();
  event.conversation = 1;
  event.envelope = sample.envelope();
  event.payload = sample.payload();
  event.deadline_ns = Deadline::after(stage_.clock, deadline).at_ns;
  event.slots = &stage_.tokens;
  Answer out;
  Heard heard(out);
  (void)dispatch(snapshot, *slot, event, &heard);
  return out;
}

struct Instance::Served {
  Instance* instance;
  agentd_fn fn;
};

agentd_status AGENTD_CALL Instance::run_served(void* self, const agentd_call* call) noexcept {
  const auto& served = *static_cast<const Served*>(self);
  const agentd_call own = served.instance->through_spy(call);
  return served.fn(served.instance->self_, &own);
}

ServiceAnswer Instance::serve(const OfferedService& service, std::string_view input_json, Milliseconds deadline) {
  ServiceRequest request;
  request.interface_id = service.interface_id;
  request.operation = service.operation;
  request.input_json = input_json;
  request.project_id = "project";
  request.deadline = Deadline::after(stage_.clock, deadline);
  Served served{this, service.fn};
  OfferedService watched_row = service;
  watched_row.fn = run_served;
  return context_->call_service(watched_row, &served, request);
}

Result<std::optional<std::string>> Instance::save() {
  const agentd_fn fn = stage_.record().plugin.save_state;
  if (fn == nullptr) return std::optional<std::string>();
  AGENTD_TRY(std::vector<Action> actions,
             context_->control(AGENTD_EVENT_SAVE_STATE, nullptr, Deadline::after(stage_.clock, kControlTime),
                               [&](const agentd_call* call) {
                                 const agentd_call own = through_spy(call);
                                 return fn(self_, &own);
                               }));
  std::string state;
  for (Action& action : actions)
    if (action.kind == AGENTD_ACT_STATE) state = std::move(action.text);
  return std::optional(std::move(state));
}

Result<void> Instance::load(std::string_view state) {
  const agentd_fn fn = stage_.record().plugin.load_state;
  if (fn == nullptr) return {};
  agentd_create_info info = create_info();
  info.state = to_abi(state);
  info.previous_version = stage_.record().plugin.version;
  const auto loaded = context_->control(AGENTD_EVENT_LOAD_STATE, &info, Deadline::after(stage_.clock, kControlTime),
                                        [&](const agentd_call* call) {
                                          const agentd_call own = through_spy(call);
                                          return fn(self_, &own);
                                        });
  if (!loaded) return loaded.error();
  return {};
}

Result<void> Instance::destroy() {
  if (!created_) return {};
  created_ = false;
  (void)context_->stop_tasks(kControlTime);
  const agentd_fn fn = stage_.record().plugin.destroy;
  if (fn == nullptr) return {};
  const auto ended = context_->control(AGENTD_EVENT_DESTROY, nullptr, Deadline::after(stage_.clock, kControlTime),
                                       [&](const agentd_call* call) {
                                         const agentd_call own = through_spy(call);
                                         return fn(self_, &own);
                                       });
  if (!ended) return ended.error();
  return {};
}

}  // namespace agentd::validation
