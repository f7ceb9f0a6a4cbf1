// SPDX-License-Identifier: Apache-2.0
#pragma once
// fake_host.hpp - unit-tests a plugin without agentd: loads it, fires events at it and records its actions.
//
//   agentd::testing::fake_host host;              // the agentd_hook_entry_v1 that this test links
//   host.create(R"({"percent":70})");
//   host.conversation.used = 90000;               // of 100000
//   auto got = host.agent_stop({.response = "done"});
//   EXPECT_TRUE(got.has(AGENTD_ACT_COMPACT));
//   EXPECT_TRUE(host.breaches().empty());
//
// It works with any entry, also of a plugin in C. Compactor, threads, store and registry (agentd.services/1) are
// scripted members; agentd.tools/1, json/1, field/1, tasks/1 and the draft provide/1 are available, tasks with the
// test's own threads; others are added with offer(). The clock stands still until advance(). Violations of the contract
// are collected in breaches().
//
// Threading: the tables may be called from any thread; the members belong to the test's thread.

#include <agentd/ext/draft/provide.h>
#include <agentd/ext/field.h>
#include <agentd/ext/json.h>
#include <agentd/ext/tasks.h>
#include <agentd/ext/tools.h>
#include <agentd/hook_abi.h>
#include <agentd/fake_registry.hpp>
#include <agentd/fake_services.hpp>
#include <agentd/fake_tasks.hpp>
#include <agentd/json.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace agentd::testing {

// The result of one event, tool call or control call.
struct outcome {
  agentd_status status = AGENTD_OK;
  std::string error;  // the text of fail()
  std::vector<recorded_action> actions;
  std::shared_ptr<live_token> waiting;  // of a pending call; see fake_host::wait()

  [[nodiscard]] bool pending() const { return status == AGENTD_PENDING; }
  [[nodiscard]] const recorded_action* find(std::uint16_t kind) const {
    for (const recorded_action& each : actions) {
      if (each.kind == kind) return &each;
    }
    return nullptr;
  }
  [[nodiscard]] bool has(std::uint16_t kind) const { return find(kind) != nullptr; }
  [[nodiscard]] bool blocked() const { return has(AGENTD_ACT_BLOCK); }
  [[nodiscard]] bool stopped_run() const { return has(AGENTD_ACT_STOP_RUN); }
  // The text of the first action of a kind; empty if there is none.
  [[nodiscard]] std::string text(std::uint16_t kind) const {
    const recorded_action* found = find(kind);
    return found == nullptr ? std::string() : found->text;
  }
  // A tool's output, its pieces joined.
  [[nodiscard]] std::string output() const {
    std::string joined;
    for (const recorded_action& each : actions) {
      if (each.kind == AGENTD_ACT_TOOL_OUTPUT) joined += each.text;
    }
    return joined;
  }
  // The JSON that a service returned; "null" if it returned none.
  [[nodiscard]] std::string service_result() const {
    const recorded_action* found = find(AGENTD_ACT_SERVICE_RESULT);
    return found == nullptr ? "null" : found->text;
  }
  [[nodiscard]] bool tool_failed() const {
    const recorded_action* end = find(AGENTD_ACT_TOOL_RESULT);
    return status < 0 || (end != nullptr && end->is_error);
  }
};

struct log_line {
  std::int32_t level = 0;
  std::string text;
};

struct contributed_tool {
  std::string name, title, description, input_schema, output_schema;
  std::uint32_t flags = 0, timeout_ms = 0;
  std::uint64_t tag = 0;
  agentd_fn fn = nullptr;
};

struct provided_service {
  std::string interface_id, operation;
  std::uint32_t flags = 0, timeout_ms = 0;
  std::uint64_t tag = 0;
  agentd_fn fn = nullptr;
};

class fake_host {
  token_book book_;  // first: the services below keep a pointer to it

 public:
  explicit fake_host(agentd_entry entry = &agentd_hook_entry_v1)
      : compactor(book_, conversation), threads(book_), store(book_), tasks(book_), registry(book_), entry_(entry) {
    fill_tables();
  }
  fake_host(const fake_host&) = delete;
  fake_host& operator=(const fake_host&) = delete;
  ~fake_host() { destroy(); }

  // ---- the environment, set by the test
  fake_conversation conversation;
  fake_compactor compactor;
  fake_threads threads;
  fake_store store;
  fake_tasks tasks;
  fake_registry registry;  // the services that the plugin calls
  // Ids that the manifest asked for and the user granted; remove ids before create().
  std::set<std::string, std::less<>> granted{"compactor",     "thread_factory",  "store",
                                             AGENTD_TOOLS_ID, AGENTD_JSON_ID,    AGENTD_FIELD_ID,
                                             AGENTD_TASKS_ID, AGENTD_PROVIDE_ID, AGENTD_SERVICES_ID};
  std::uint32_t isolation = AGENTD_ISOLATION_IN_PROCESS;
  std::uint64_t timeout_ns = 30'000'000'000;  // per call
  std::uint32_t cancel_reason = 0;            // != 0: calls begin cancelled
  named_values extra_values;                  // further fields of every payload

  void deny(std::string_view id) { granted.erase(std::string(id)); }
  // Adds an interface for query().
  void offer(std::string_view id, const void* table, std::uint32_t size) {
    offered_[std::string(id)] = {table, size};
    granted.insert(std::string(id));
  }
  void advance(std::uint64_t ns) { now_ns_ += ns; }
  // Cancels everything that runs or waits.
  void cancel(std::uint32_t reason = AGENTD_CANCEL_USER) {
    for (const auto& token : book_.all()) {
      std::atomic_ref<std::uint32_t>(token->live.cancel).store(reason, std::memory_order_release);
    }
  }

  // ---- life
  // The entry's answer to a host of these versions.
  outcome negotiate(std::uint32_t abi_min = AGENTD_ABI_MAJOR << 16, std::uint32_t abi_max = AGENTD_ABI_NEWEST) {
    agentd_negotiate io{};
    io.size = sizeof(io);
    io.host_abi_min = abi_min;
    io.host_abi_max = abi_max;
    outcome got;
    got.status = entry_(&io);
    got.error = as_view(io.error);
    if (io.magic != AGENTD_MAGIC) book_.breach("the entry did not write AGENTD_MAGIC");
    if (got.status == AGENTD_OK && io.plugin == nullptr) book_.breach("the entry gave no plugin");
    if (got.status != AGENTD_OK && got.error.empty()) book_.breach("the entry declined without a reason");
    plugin_ = got.status == AGENTD_OK ? io.plugin : nullptr;
    return got;
  }
  // Loads the plugin and makes its instance.
  outcome create(std::string_view config_json = "{}") {
    destroy();
    outcome got = negotiate();
    if (plugin_ == nullptr) return got;
    check_plugin();
    services_ = sized<agentd_services>();
    services_.compactor = has_grant("compactor") ? compactor.table() : nullptr;
    services_.threads = has_grant("thread_factory") ? threads.table() : nullptr;
    services_.store = has_grant("store") ? store.table() : nullptr;
    tasks.reset();
    got = control(AGENTD_EVENT_CREATE, config_json, {}, {}, [this](const agentd_call& call) {
      const agentd_status status = plugin_->create(&call, &self_);
      alive_ = status == AGENTD_OK;
      return status;
    });
    if (!alive_) tasks.stop_all();
    return got;
  }
  // Ends the instance; open threads, scopes and calls are breaches.
  outcome destroy() {
    if (!alive_) return {};
    alive_ = false;
    tasks.stop_all();
    outcome got;
    if (plugin_->destroy != nullptr) {
      got = control(AGENTD_EVENT_DESTROY, {}, {}, {},
                    [this](const agentd_call& call) { return plugin_->destroy(self_, &call); });
    }
    self_ = nullptr;
    if (threads.open_count() != 0) book_.breach("destroy left a thread open");
    for (const auto& token : book_.all()) {
      book_.breach(token->event == 0 ? "destroy left a scope open" : "destroy left a call pending");
      book_.close(token->id);
    }
    tools_.clear();
    provided_.clear();
    return got;
  }
  // The state in got.text(AGENTD_ACT_STATE); AGENTD_E_UNSUPPORTED from a stateless plugin.
  outcome save_state() {
    if (!alive_ || plugin_->save_state == nullptr) return unsupported();
    return control(AGENTD_EVENT_SAVE_STATE, {}, {}, {},
                   [this](const agentd_call& call) { return plugin_->save_state(self_, &call); });
  }
  outcome load_state(std::string_view state, std::string_view previous_version = "1.0.0") {
    if (!alive_ || plugin_->load_state == nullptr) return unsupported();
    return control(AGENTD_EVENT_LOAD_STATE, "{}", state, previous_version,
                   [this](const agentd_call& call) { return plugin_->load_state(self_, &call); });
  }
  [[nodiscard]] const agentd_plugin* plugin() const { return plugin_; }

  // ---- events: host.before_tool_call({.name = "bash"}), one function for each
#define AGENTD_FAKE_FIRE(NAME, name, id, record)                     \
  outcome name(const event_of<record>& from = {}) {                  \
    return dispatch(id, from.values(conversation), [&](keeper& to) { \
      record* full = to.keep(from.make(to, conversation));           \
      record* bare = to.keep(without_messages(*full));               \
      return payload_pair{full, bare};                               \
    });                                                              \
  }
  AGENTD_EVENT_LIST(AGENTD_FAKE_FIRE)
#undef AGENTD_FAKE_FIRE
  // Any event with a record of the test's own.
  outcome fire(std::uint32_t event, const void* payload) {
    return dispatch(event, {}, [&](keeper&) { return payload_pair{payload, payload}; });
  }
  // Waits until a pending call is complete and fills the outcome; false if it takes longer than `at_most`.
  bool wait(outcome& got, std::chrono::milliseconds at_most = std::chrono::seconds(10)) {
    if (!got.pending() || got.waiting == nullptr) return true;
    std::unique_lock lock(book_.mutex());
    if (!book_.completed.wait_for(lock, at_most, [&] { return got.waiting->completed; })) return false;
    take(got, *got.waiting, got.waiting->completion);
    got.waiting = nullptr;
    return true;
  }

  // ---- tools
  [[nodiscard]] const std::vector<contributed_tool>& tools() const { return tools_; }
  [[nodiscard]] const contributed_tool* tool(std::string_view name) const {
    for (const contributed_tool& each : tools_) {
      if (each.name == name) return &each;
    }
    return nullptr;
  }
  // Calls a tool; AGENTD_E_NOT_FOUND if the plugin contributed none with that name.
  outcome invoke(std::string_view name, std::string_view input_json = "{}") {
    const contributed_tool* row = tool(name);
    outcome got;
    got.status = AGENTD_E_NOT_FOUND;
    if (!alive_ || row == nullptr) return got;
    const auto token = book_.open(AGENTD_EVENT_TOOL_INVOKE, deadline());
    token->tool_input = input_json;
    tool_event from;
    from.name = name;
    from.input_json = input_json;
    agentd_tool_call record = from.make(token->memory, conversation);
    record.tool = row->tag;
    return run(row->fn, token, token->memory.keep(record), false);  // a tool's call has no envelope
  }

  // ---- services that the plugin offers
  [[nodiscard]] const std::vector<provided_service>& provided() const { return provided_; }
  // Calls an operation as agentd does; AGENTD_E_UNSUPPORTED if the plugin does not offer it. `caller` is the calling
  // plugin's id. With `outside`, the call comes from no conversation.
  outcome call_service(std::string_view interface_id, std::string_view operation, std::string_view input_json = "{}",
                       std::string_view caller = "core", bool outside = false) {
    const auto row = std::find_if(provided_.begin(), provided_.end(), [&](const provided_service& each) {
      return each.interface_id == interface_id && each.operation == operation;
    });
    if (!alive_ || row == provided_.end()) return unsupported();
    const auto token = book_.open(AGENTD_EVENT_SERVICE_CALL, deadline());
    token->tool_input = input_json;
    auto record = sized<agentd_service_call>();
    record.interface_id = token->memory.text(interface_id);
    record.operation = token->memory.text(operation);
    record.input_json = token->memory.text(input_json);
    record.project_id = token->memory.text(conversation.project_id);
    record.caller = token->memory.text(caller);
    record.tag = row->tag;
    outcome got = run(row->fn, token, token->memory.keep(record), false, outside ? 0 : kConversation);
    if (got.status == AGENTD_OK) check_result(got.service_result());
    return got;
  }

  // ---- observations
  std::vector<log_line> log;
  [[nodiscard]] std::vector<std::string> breaches() { return book_.breaches(); }

 private:
  struct payload_pair {
    const void* full;
    const void* bare;
  };
  struct interface_row {
    const void* table;
    std::uint32_t size;
  };
  template <typename Table>
  struct owned : Table {
    fake_host* owner;
  };
  template <typename Table>
  static fake_host& of(const Table* table) {
    return *static_cast<const owned<Table>*>(table)->owner;
  }
  template <typename Record>
  static Record without_messages(Record record) {
    if constexpr (requires { record.messages; }) record.messages = {};
    return record;
  }

  [[nodiscard]] bool has_grant(std::string_view id) const { return granted.find(id) != granted.end(); }
  [[nodiscard]] std::uint64_t deadline() const { return timeout_ns == UINT64_MAX ? UINT64_MAX : now_ns_ + timeout_ns; }
  static outcome unsupported() {
    outcome got;
    got.status = AGENTD_E_UNSUPPORTED;
    return got;
  }

  // ---- rows
  void check_plugin() {
    if (plugin_->size < sizeof(agentd_plugin)) book_.breach("agentd_plugin.size is too small");
    if (plugin_->id.len == 0 || plugin_->version.len == 0) book_.breach("the plugin has no id or version");
    if (plugin_->concurrency > AGENTD_CONCURRENT) book_.breach("agentd_plugin.concurrency is unknown");
    if (plugin_->create == nullptr) book_.breach("agentd_plugin.create is NULL");
    for (const agentd_hook& row : rows()) {
      if (row.fn == nullptr) book_.breach("a row without a function");
      const bool known = !name_of(static_cast<event>(row.event)).empty();
      if (!known && (row.flags & AGENTD_HOOK_OPTIONAL) == 0) {
        book_.breach("a row for the unknown event " + std::to_string(row.event) + " is not OPTIONAL");
      }
    }
  }
  [[nodiscard]] std::vector<agentd_hook> rows() const {
    std::vector<agentd_hook> found;
    const agentd_list list = plugin_->hooks;
    for (std::uint32_t i = 0; i < list.count; ++i) {
      found.push_back(
          *reinterpret_cast<const agentd_hook*>(static_cast<const char*>(list.first) + std::size_t{i} * list.stride));
    }
    return found;
  }
  // The rows of an event in the host's order: by priority, observers last.
  [[nodiscard]] std::vector<agentd_hook> rows_of(std::uint32_t event) const {
    std::vector<agentd_hook> found = rows();
    std::erase_if(found, [&](const agentd_hook& row) { return row.event != event; });
    std::stable_sort(found.begin(), found.end(), [](const agentd_hook& a, const agentd_hook& b) {
      const bool a_observes = (a.flags & AGENTD_HOOK_OBSERVES) != 0;
      const bool b_observes = (b.flags & AGENTD_HOOK_OBSERVES) != 0;
      return a_observes != b_observes ? b_observes : a.priority > b.priority;
    });
    return found;
  }

  // ---- calls
  outcome dispatch(std::uint32_t event, named_values values, const std::function<payload_pair(keeper&)>& make) {
    outcome all;
    if (!alive_) {
      all.status = AGENTD_E_ARG;
      all.error = "create() has not made an instance";
      return all;
    }
    for (const agentd_hook& row : rows_of(event)) {
      const auto token = book_.open(event, deadline());
      token->observer = (row.flags & AGENTD_HOOK_OBSERVES) != 0;
      token->values = values;
      token->values.insert(token->values.end(), extra_values.begin(), extra_values.end());
      const payload_pair payload = make(token->memory);
      const bool full = (row.wants & AGENTD_WANTS_MESSAGES) != 0;
      add(all, run(row.fn, token, full ? payload.full : payload.bare, true));
      if (all.blocked()) break;
    }
    return all;
  }
  static void add(outcome& all, outcome one) {
    if (all.status == AGENTD_OK) {
      all.status = one.status;
      all.error = std::move(one.error);
      all.waiting = std::move(one.waiting);
    }
    for (recorded_action& each : one.actions) all.actions.push_back(std::move(each));
  }
  outcome control(std::uint32_t event, std::string_view config_json, std::string_view state,
                  std::string_view previous_version, const std::function<agentd_status(const agentd_call&)>& body) {
    const auto token = book_.open(event);
    const void* payload = nullptr;
    if (event == AGENTD_EVENT_CREATE || event == AGENTD_EVENT_LOAD_STATE) {
      auto info = sized<agentd_create_info>();
      info.isolation = isolation;
      info.config_json = token->memory.text(config_json);
      if (!previous_version.empty()) {
        info.state = token->memory.text(state);
        info.previous_version = token->memory.text(previous_version);
      }
      payload = token->memory.keep(info);
    }
    init_thread_ = std::this_thread::get_id();
    const agentd_call call = call_of(*token, payload, false);
    outcome got = finish(token, body(call));
    init_thread_ = std::thread::id();
    return got;
  }
  void check_result(std::string_view json) {
    if (json.size() > AGENTD_SERVICE_JSON_MAX) book_.breach("a service's result of more than 1 MiB");
    if (json_view(json).type() == json_type::absent) book_.breach("a service's result that is not JSON");
  }
  outcome run(agentd_fn fn, const std::shared_ptr<live_token>& token, const void* payload, bool with_envelope,
              agentd_conv in = kConversation) {
    token->live.cancel = cancel_reason;
    agentd_call call = call_of(*token, payload, with_envelope);
    call.conversation = in;
    return finish(token, fn(self_, token->memory.keep(call)));
  }
  agentd_call call_of(live_token& token, const void* payload, bool with_envelope) {
    auto call = sized<agentd_call>();
    call.event = token.event;
    call.token = token.id;
    call.conversation = with_envelope ? kConversation : 0;
    call.live = &token.live;
    call.core = &core_;
    call.services = &services_;
    call.envelope = with_envelope ? envelope(token) : nullptr;
    call.payload = payload;
    return call;
  }
  const agentd_envelope* envelope(live_token& token) {
    keeper& to = token.memory;
    const fake_conversation& in = conversation;
    auto made = sized<agentd_envelope>();
    made.turn_number = in.turn_number;
    made.event_id = to.text("event-" + std::to_string(token.id >> 24));
    made.conversation_id = to.text(in.id);
    made.session_id = to.text(in.session_id);
    made.run_id = to.text(in.run_id);
    made.turn_id = to.text(in.turn_id);
    made.cwd = to.text(in.cwd);
    made.project_id = to.text(in.project_id);
    made.recipe = to.text(in.recipe);
    made.provider = to.text(in.provider);
    made.model = to.text(in.model);
    made.agent_id = to.text(in.agent_id);
    made.agent_type = to.text(in.agent_type);
    made.agent_depth = in.agent_depth;
    made.invoked_by = in.invoked_by;
    made.attempt = 1;
    made.revision = in.revision;
    made.context = in.gauge(to);
    return to.keep(made);
  }
  // Ends the token, unless the call is pending.
  outcome finish(const std::shared_ptr<live_token>& token, agentd_status status) {
    outcome got;
    bool completed = false;
    {
      const std::lock_guard lock(book_.mutex());
      completed = token->completed;
      take(got, *token, status == AGENTD_PENDING && completed ? token->completion : status);
    }
    if (got.pending()) got.waiting = token;
    if (status == AGENTD_PENDING) return got;
    if (status > AGENTD_PENDING) {
      book_.breach("a call returned the unknown status " + std::to_string(status));
    }
    if (completed) book_.breach("complete() was called for a call that did not return PENDING");
    book_.close(token->id);
    return got;
  }
  static void take(outcome& to, const live_token& from, agentd_status status) {
    to.status = status;
    to.error = status < 0 ? from.error : std::string();
    to.actions = from.actions;
  }

  // ---- agentd_core
  void fill_tables() {
    core_.size = sizeof(agentd_core);
    core_.host_minor = AGENTD_ABI_MINOR;
    core_.owner = this;
    core_.fail = &on_fail;
    core_.log = &on_log;
    core_.query = &on_query;
    core_.event_id = &on_event_id;
    core_.emit = &on_emit;
    core_.arena = &on_arena;
    core_.complete = &on_complete;
    core_.scope_open = &on_scope_open;
    core_.scope_close = &on_scope_close;
    core_.now_ns = &on_now;
    tools_table_.size = sizeof(agentd_tools);
    tools_table_.owner = this;
    tools_table_.add = &on_add;
    tools_table_.remove = &on_remove;
    json_table_.size = sizeof(agentd_json);
    json_table_.owner = this;
    json_table_.payload = &on_json;
    field_table_.size = sizeof(agentd_field);
    field_table_.owner = this;
    field_table_.key = &on_key;
    field_table_.get = &on_get;
    provide_table_.size = sizeof(agentd_provide);
    provide_table_.owner = this;
    provide_table_.add = &on_provide;
    provide_table_.remove = &on_unprovide;
    offered_[AGENTD_PROVIDE_ID] = {static_cast<agentd_provide*>(&provide_table_), sizeof(agentd_provide)};
    offered_[AGENTD_SERVICES_ID] = {registry.table(), sizeof(agentd_registry)};
    offered_[AGENTD_TOOLS_ID] = {static_cast<agentd_tools*>(&tools_table_), sizeof(agentd_tools)};
    offered_[AGENTD_JSON_ID] = {static_cast<agentd_json*>(&json_table_), sizeof(agentd_json)};
    offered_[AGENTD_TASKS_ID] = {tasks.table(), sizeof(agentd_tasks)};
    offered_[AGENTD_FIELD_ID] = {static_cast<agentd_field*>(&field_table_), sizeof(agentd_field)};
  }
  void need_init_thread(std::string_view who) {
    if (std::this_thread::get_id() != init_thread_) {
      book_.breach(std::string(who) + " outside the thread and the time of create()");
    }
  }

  static void AGENTD_CALL on_fail(const agentd_core* core, agentd_token id, agentd_status, agentd_str what) noexcept {
    const auto token = of(core).book_.find(id, "core->fail");
    if (token == nullptr) return;
    const std::lock_guard lock(of(core).book_.mutex());
    token->error = as_view(what);
  }
  static void AGENTD_CALL on_log(const agentd_core* core, agentd_token, std::int32_t level, agentd_str text) noexcept {
    const std::lock_guard lock(of(core).book_.mutex());
    of(core).log.push_back({level, std::string(as_view(text))});
  }
  static const void* AGENTD_CALL on_query(const agentd_core* core, agentd_str id, std::uint32_t min_size) noexcept {
    fake_host& self = of(core);
    self.need_init_thread("core->query");
    const auto found = self.offered_.find(as_view(id));
    if (found == self.offered_.end() || !self.has_grant(as_view(id))) return nullptr;
    return found->second.size < min_size ? nullptr : found->second.table;
  }
  static std::uint32_t AGENTD_CALL on_event_id(const agentd_core* core, agentd_str name) noexcept {
    of(core).need_init_thread("core->event_id");
#define AGENTD_FAKE_ID(NAME, event_name, id, record) \
  if (as_view(name) == #event_name) return id;
    AGENTD_EVENT_LIST(AGENTD_FAKE_ID)
#undef AGENTD_FAKE_ID
    return 0;
  }
  static agentd_status AGENTD_CALL on_emit(const agentd_core* core, agentd_token id,
                                           const agentd_action* action) noexcept {
    fake_host& self = of(core);
    const auto token = self.book_.find(id, "core->emit");
    if (token == nullptr) return AGENTD_E_NOT_FOUND;
    if (action == nullptr || action->size < sizeof(agentd_action)) {
      self.book_.breach("core->emit with no action");
      return AGENTD_E_ARG;
    }
    if (token->observer) return AGENTD_OK;
    if (action->kind >= 32 || (legal_actions(token->event) & (1u << action->kind)) == 0) {
      self.book_.breach("action " + std::to_string(action->kind) + " is not legal for " + self.call_name(token->event));
      return AGENTD_E_UNSUPPORTED;
    }
    return self.record(*token, *action);
  }
  agentd_status record(live_token& token, const agentd_action& action) {
    std::string wrong;
    std::optional<recorded_action> made = action_copier::copy(action, &wrong);
    if (!made || !wrong.empty()) {
      book_.breach("core->emit of " + wrong);
      return AGENTD_E_ARG;
    }
    if (made->kind == AGENTD_ACT_SET && !key_is_legal(token.event, made->key)) {
      book_.breach("key " + std::to_string(made->key) + " cannot be set in " + call_name(token.event));
      return AGENTD_E_UNSUPPORTED;
    }
    if (made->kind == AGENTD_ACT_TOOL_OUTPUT && made->text.size() > 64 * 1024) {
      book_.breach("a piece of tool output of more than 64 KiB");
      return AGENTD_E_TOO_BIG;
    }
    if (token.ended_by_tool_result) {
      book_.breach("an action after the result of the call");
      return AGENTD_E_ARG;
    }
    const std::lock_guard lock(book_.mutex());
    token.ended_by_tool_result = made->kind == AGENTD_ACT_TOOL_RESULT || made->kind == AGENTD_ACT_SERVICE_RESULT;
    token.actions.push_back(std::move(*made));
    return AGENTD_OK;
  }
  static bool key_is_legal(std::uint32_t event, std::uint32_t key) {
    std::uint64_t events = 0;
#define AGENTD_FAKE_KEY(NAME, answer, at) \
  if (key == AGENTD_KEY_##NAME) events = at;
    AGENTD_KEY_LIST(AGENTD_FAKE_KEY)
#undef AGENTD_FAKE_KEY
    return event < 64 && (events >> event & 1) != 0;
  }
  static std::string call_name(std::uint32_t event) {
    const std::string_view name = name_of(static_cast<agentd::event>(event));
    if (!name.empty()) return std::string(name);
    return event == 0 ? "a scope" : "call " + std::to_string(event);
  }
  static void* AGENTD_CALL on_arena(const agentd_core* core, agentd_token id, std::size_t bytes,
                                    std::size_t align) noexcept {
    fake_host& self = of(core);
    const auto token = self.book_.find(id, "core->arena");
    if (token == nullptr) return nullptr;
    if (align == 0 || (align & (align - 1)) != 0) {
      self.book_.breach("core->arena with an alignment that is not a power of two");
      return nullptr;
    }
    if (bytes > kArenaBytesMax) return nullptr;
    const std::lock_guard lock(self.book_.mutex());
    return token->memory.bytes(bytes, align);
  }
  static agentd_status AGENTD_CALL on_complete(const agentd_core* core, agentd_token id,
                                               agentd_status status) noexcept {
    fake_host& self = of(core);
    const auto token = self.book_.find(id, "core->complete");
    if (token == nullptr) return AGENTD_E_NOT_FOUND;
    self.book_.close(id);
    const std::lock_guard lock(self.book_.mutex());
    token->completed = true;
    token->completion = status;
    self.book_.completed.notify_all();
    return AGENTD_OK;
  }
  static agentd_status AGENTD_CALL on_scope_open(const agentd_core* core, agentd_conv, std::uint64_t deadline_ns,
                                                 agentd_token* out, const agentd_live** live) noexcept {
    const auto token = of(core).book_.open(0, deadline_ns);
    *out = token->id;
    *live = &token->live;
    return AGENTD_OK;
  }
  static void AGENTD_CALL on_scope_close(const agentd_core* core, agentd_token id) noexcept {
    of(core).book_.close(id);
  }
  static std::uint64_t AGENTD_CALL on_now(const agentd_core* core) noexcept { return of(core).now_ns_; }

  // ---- agentd.tools/1
  static agentd_status AGENTD_CALL on_add(const agentd_tools* table, agentd_token id, const agentd_tool* row) noexcept {
    fake_host& self = of(table);
    if (self.book_.find(id, "tools->add") == nullptr) return AGENTD_E_NOT_FOUND;
    if (row == nullptr || row->size < sizeof(agentd_tool) || row->fn == nullptr || row->name.len == 0) {
      self.book_.breach("tools->add of a tool without a size, a name or a function");
      return AGENTD_E_ARG;
    }
    if (as_view(row->input_schema_json).substr(0, 1) != "{") {
      self.book_.breach("tools->add of a tool whose input schema is not a JSON object");
      return AGENTD_E_ARG;
    }
    if (self.tool(as_view(row->name)) != nullptr) return AGENTD_E_CONFLICT;
    contributed_tool made;
    made.name = as_view(row->name);
    made.title = as_view(row->title);
    made.description = as_view(row->description);
    made.input_schema = as_view(row->input_schema_json);
    made.output_schema = as_view(row->output_schema_json);
    made.flags = row->flags;
    made.timeout_ms = row->timeout_ms;
    made.tag = row->tag;
    made.fn = row->fn;
    self.tools_.push_back(std::move(made));
    return AGENTD_OK;
  }
  static agentd_status AGENTD_CALL on_remove(const agentd_tools* table, agentd_token id, agentd_str name) noexcept {
    fake_host& self = of(table);
    if (self.book_.find(id, "tools->remove") == nullptr) return AGENTD_E_NOT_FOUND;
    const std::size_t gone =
        std::erase_if(self.tools_, [&](const contributed_tool& each) { return each.name == as_view(name); });
    return gone == 0 ? AGENTD_E_NOT_FOUND : AGENTD_OK;
  }

  // ---- agentd.provide/1
  static agentd_status AGENTD_CALL on_provide(const agentd_provide* table, agentd_token id,
                                              const agentd_service_row* row) noexcept {
    fake_host& self = of(table);
    if (self.book_.find(id, "provide->add") == nullptr) return AGENTD_E_NOT_FOUND;
    if (row == nullptr || row->size < sizeof(agentd_service_row) || row->fn == nullptr || row->operation.len == 0 ||
        as_view(row->interface_id).find('/') == std::string_view::npos) {
      self.book_.breach(
          "provide->add of a row without a size, an interface with its version, an operation or a function");
      return AGENTD_E_ARG;
    }
    for (const provided_service& each : self.provided_) {
      if (each.interface_id == as_view(row->interface_id) && each.operation == as_view(row->operation)) {
        return AGENTD_E_CONFLICT;
      }
    }
    self.provided_.push_back({std::string(as_view(row->interface_id)), std::string(as_view(row->operation)), row->flags,
                              row->timeout_ms, row->tag, row->fn});
    return AGENTD_OK;
  }
  static agentd_status AGENTD_CALL on_unprovide(const agentd_provide* table, agentd_token id, agentd_str interface_id,
                                                agentd_str operation) noexcept {
    fake_host& self = of(table);
    if (self.book_.find(id, "provide->remove") == nullptr) return AGENTD_E_NOT_FOUND;
    const std::size_t gone = std::erase_if(self.provided_, [&](const provided_service& each) {
      return each.interface_id == as_view(interface_id) && each.operation == as_view(operation);
    });
    return gone == 0 ? AGENTD_E_NOT_FOUND : AGENTD_OK;
  }

  // ---- agentd.json/1 and agentd.field/1
  static std::string quoted(std::string_view text) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string made = "\"";
    for (const char c : text) {
      const auto byte = static_cast<unsigned char>(c);
      if (c == '"' || c == '\\') {
        made += '\\';
        made += c;
      } else if (byte < 0x20) {
        made += "\\u00";
        made += digits[byte >> 4];
        made += digits[byte & 15];
      } else {
        made += c;
      }
    }
    return made + "\"";
  }
  // The envelope's fields and the payload's, in that order.
  [[nodiscard]] named_values all_values(const live_token& token) const {
    const fake_conversation& in = conversation;
    named_values all{{"event", call_name(token.event)},
                     {"conv_id", in.id},
                     {"session_id", in.session_id},
                     {"turn_id", in.turn_id},
                     {"turn_number", std::to_string(in.turn_number), false},
                     {"cwd", in.cwd},
                     {"invoked_by", in.invoked_by == AGENTD_INVOKED_BY_MAIN ? "main" : "subagent"},
                     {"context.used", std::to_string(in.used), false},
                     {"context.limit", std::to_string(in.limit), false}};
    for (const named_value& each : token.values) {
      std::erase_if(all, [&](const named_value& old) { return old.path == each.path; });
      all.push_back(each);
    }
    return all;
  }
  // Dotted paths become objects.
  static std::string object_of(const named_values& values) {
    std::vector<std::pair<std::string, named_values>> members;
    for (const named_value& each : values) {
      const std::size_t dot = each.path.find('.');
      const std::string name = each.path.substr(0, dot);
      const std::string rest = dot == std::string::npos ? "" : each.path.substr(dot + 1);
      auto at = std::find_if(members.begin(), members.end(), [&](auto& m) { return m.first == name; });
      if (at == members.end()) at = members.insert(members.end(), {name, {}});
      at->second.push_back({rest, each.value, each.is_text});
    }
    std::string made = "{";
    for (const auto& [name, inside] : members) {
      if (made.size() > 1) made += ",";
      const named_value& first = inside.front();
      const std::string leaf = first.is_text ? quoted(first.value) : first.value;
      made += quoted(name) + ":" + (first.path.empty() ? leaf : object_of(inside));
    }
    return made + "}";
  }
  static agentd_status AGENTD_CALL on_json(const agentd_json* table, agentd_token id, agentd_str* out) noexcept {
    fake_host& self = of(table);
    const auto token = self.book_.find(id, "json->payload");
    if (token == nullptr) return AGENTD_E_NOT_FOUND;
    const bool in_tool = has_input(token->event);
    if (!in_tool && name_of(static_cast<event>(token->event)).empty()) return AGENTD_E_UNSUPPORTED;
    *out = token->memory.text(in_tool ? token->tool_input : object_of(self.all_values(*token)));
    return AGENTD_OK;
  }
  // Calls whose JSON is their input.
  static bool has_input(std::uint32_t event) {
    return event == AGENTD_EVENT_TOOL_INVOKE || event == AGENTD_EVENT_SERVICE_CALL;
  }
  static std::uint32_t AGENTD_CALL on_key(const agentd_field* table, agentd_str path) noexcept {
    fake_host& self = of(table);
    self.need_init_thread("field->key");
    const std::string_view asked = as_view(path);
    if (asked.empty() || asked.front() == '.' || asked.back() == '.') return 0;
    const auto found = std::find(self.keys_.begin(), self.keys_.end(), asked);
    if (found != self.keys_.end()) return static_cast<std::uint32_t>(found - self.keys_.begin()) + 1;
    self.keys_.emplace_back(asked);
    return static_cast<std::uint32_t>(self.keys_.size());
  }
  static agentd_status AGENTD_CALL on_get(const agentd_field* table, agentd_token id, std::uint32_t key,
                                          agentd_str* out) noexcept {
    fake_host& self = of(table);
    const auto token = self.book_.find(id, "field->get");
    if (token == nullptr) return AGENTD_E_NOT_FOUND;
    if (key == 0 || key > self.keys_.size()) return AGENTD_E_ARG;
    if (has_input(token->event)) {
      const json_view found = json_view(token->tool_input).at_path(self.keys_[key - 1]);
      if (found.type() == json_type::absent) return AGENTD_E_NOT_FOUND;
      *out = token->memory.text(found.type() == json_type::text ? found.text() : std::string(found.raw()));
      return AGENTD_OK;
    }
    for (const named_value& each : self.all_values(*token)) {
      if (each.path != self.keys_[key - 1]) continue;
      *out = token->memory.text(each.value);
      return AGENTD_OK;
    }
    return AGENTD_E_NOT_FOUND;
  }

  static constexpr agentd_conv kConversation = 1;
  static constexpr std::size_t kArenaBytesMax = std::size_t{64} << 20;

  agentd_entry entry_;
  const agentd_plugin* plugin_ = nullptr;
  void* self_ = nullptr;
  bool alive_ = false;
  std::thread::id init_thread_{};
  std::atomic<std::uint64_t> now_ns_{1'000'000'000};
  agentd_services services_{};
  owned<agentd_core> core_{};
  owned<agentd_tools> tools_table_{};
  owned<agentd_provide> provide_table_{};
  owned<agentd_json> json_table_{};
  owned<agentd_field> field_table_{};
  std::map<std::string, interface_row, std::less<>> offered_;
  std::vector<contributed_tool> tools_;
  std::vector<provided_service> provided_;
  std::vector<std::string> keys_;
};

}  // namespace agentd::testing
