// SPDX-License-Identifier: Apache-2.0
#include "core/workers/service_desk.h"

#include <agentd/ext/draft/process.h>
#include <agentd/ext/draft/services.h>
#include <agentd/ext/draft/workspace.h>

#include "core/isolation/flat.h"
#include "core/isolation/message_shapes.h"
#include "core/isolation/service_call.h"

namespace agentd {
namespace {

std::uint32_t u32(std::uint64_t number) { return static_cast<std::uint32_t>(number); }
std::int32_t i32(std::uint64_t number) { return static_cast<std::int32_t>(u32(number)); }

template <typename T>
const T* record(const ServiceArgs& args) {
  return static_cast<const T*>(args.record[0]);
}

agentd_str text_at(const agentd_list& list, std::uint32_t index) {
  if (index >= list.count) return {nullptr, 0};
  return static_cast<const agentd_str*>(list.first)[index];  // relocate() set the stride to this size
}

}  // namespace

ServiceDesk::ServiceDesk(PluginContext& context, TokenTable& tokens, PayloadWindow& window, WorkerToolBook& tools)
    : context_(context), tokens_(tokens), window_(window), tools_(tools) {}

ServiceDesk::~ServiceDesk() {
  while (!scopes_.empty()) close_scope(scopes_.begin()->first);
  const agentd_thread_factory* const factory = context_.services()->threads;
  for (const agentd_thread thread : threads_)
    if (factory != nullptr) (void)factory->close(factory, thread);
}

template <typename Table>
const Table* ServiceDesk::table(std::string_view id) const {
  const agentd_core* const core = context_.core();
  return static_cast<const Table*>(core->query(core, to_abi(id), sizeof(Table)));
}

template <typename Table>
const Table* ServiceDesk::service() const {
  if constexpr (std::is_same_v<Table, agentd_compactor>) return context_.services()->compactor;
  if constexpr (std::is_same_v<Table, agentd_thread_factory>) return context_.services()->threads;
  if constexpr (std::is_same_v<Table, agentd_store>) return context_.services()->store;
  if constexpr (std::is_same_v<Table, agentd_workspace>) return table<agentd_workspace>(AGENTD_WORKSPACE_ID);
  if constexpr (std::is_same_v<Table, agentd_process>) return table<agentd_process>(AGENTD_PROCESS_ID);
  if constexpr (std::is_same_v<Table, agentd_registry>) return table<agentd_registry>(AGENTD_SERVICES_ID);
}

Result<void> ServiceDesk::serve(agentd_token token, std::string_view body, Answer& answer) {
  answer.body.clear();
  FlatBytes bytes(body);
  AGENTD_TRY(const ServiceArgs* const args, open_args({bytes.data(), bytes.size()}));
  ServiceReply reply;
  bool done = true;
  answer.status = run_free(static_cast<ServiceOp>(args->op), token, *args, reply, done);
  if (!done) {
    const TokenLedger::Use use(ledger_, token);
    // Only actions are kept until the token ends.
    const bool kept = static_cast<ServiceOp>(args->op) == ServiceOp::kEmit;
    const bool room = !kept || ledger_.spend(token, TokenLedger::Kept::kAnswers, body.size());
    answer.status = !use ? AGENTD_E_NOT_FOUND : !room ? AGENTD_E_TOO_BIG : run(token, *args, reply);
    if (use) ledger_.refresh(token);
    // Results are in the memory of the token: they are copied while it is held.
    auto flat = flatten(*reply_shape(args->op), &reply, answer.body);
    if (flat && (!use || ledger_.spend(token, TokenLedger::Kept::kResults, answer.body.size()))) return {};
    const bool too_big = flat || flat.error().code == Code::kUnavailable;
    answer.status = too_big ? AGENTD_E_TOO_BIG : AGENTD_E_INTERNAL;
    answer.body.clear();
    reply = ServiceReply();
  }
  return flatten(*reply_shape(args->op), &reply, answer.body);
}

// Requests that need no token, or accept one that has ended.
agentd_status ServiceDesk::run_free(ServiceOp op, agentd_token token, const ServiceArgs& args, ServiceReply& reply,
                                    bool& done) {
  const agentd_core* const core = context_.core();
  if (op == ServiceOp::kLog) {
    core->log(core, token, i32(args.number[0]), args.text[0]);
    return AGENTD_OK;
  }
  if (op == ServiceOp::kFail) {
    // Without the right to use the token, the text goes only to the log.
    const TokenLedger::Use use(ledger_, token);
    core->fail(core, use ? token : 0, i32(args.number[0]), args.text[0]);
    return AGENTD_OK;
  }
  if (op == ServiceOp::kScopeOpen) return open_scope(args, reply);
  if (op == ServiceOp::kScopeClose) {
    close_scope(token);
    return AGENTD_OK;
  }
  if (op == ServiceOp::kToolsRemove) return tools_.remove(token, view_of(args.text[0]));
  if (op == ServiceOp::kProvideRemove)
    return tools_.remove_service(token, view_of(args.text[0]), view_of(args.text[1]));
  if (op == ServiceOp::kThreadClose) return close_thread(args.number[0]);
  done = false;
  return AGENTD_OK;
}

agentd_status ServiceDesk::complete(agentd_token token, agentd_status with) {
  const agentd_status status = context_.core()->complete(context_.core(), token, with);
  if (status == AGENTD_OK) ledger_.set_completed(token, with);
  return status;
}

// ---- scopes

agentd_status ServiceDesk::open_scope(const ServiceArgs& args, ServiceReply& reply) {
  const MutexLock lock(mutex_);
  agentd_live* const mirror = ended_ ? nullptr : window_.acquire_live();
  if (mirror == nullptr) return AGENTD_E_NOMEM;
  const agentd_core* const core = context_.core();
  agentd_token token = 0;
  const agentd_live* live = nullptr;
  const agentd_status status = core->scope_open(core, args.number[0], args.number[1], &token, &live);
  CallSlot* const slot = status == AGENTD_OK ? tokens_.find(token) : nullptr;
  if (slot == nullptr) {
    window_.release_live(mirror);
    return status == AGENTD_OK ? AGENTD_E_INTERNAL : status;
  }
  set_deadline(*mirror, args.number[1]);
  const Scope& scope = *(scopes_[token] = std::make_unique<Scope>(mirror, *slot));
  ledger_.add(token, *live, mirror, scope.cancel);
  reply.number[0] = token;
  reply.number[1] = reinterpret_cast<std::uintptr_t>(mirror);
  return AGENTD_OK;
}

void ServiceDesk::close_scope(agentd_token token) {
  std::unique_ptr<Scope> scope;
  {
    const MutexLock lock(mutex_);
    const auto found = scopes_.find(token);
    if (found == scopes_.end()) return;
    scope = std::move(found->second);
    scopes_.erase(found);
  }
  ledger_.remove(token);  // requests on other lanes that wait in this scope give up
  agentd_live* const mirror = scope->mirror;
  scope.reset();
  context_.core()->scope_close(context_.core(), token);
  window_.release_live(mirror);
}

void ServiceDesk::give_up() {
  {
    const MutexLock lock(mutex_);
    ended_ = true;
  }
  ledger_.cancel_all();
}

// ---- interfaces

agentd_status ServiceDesk::add_tool(agentd_token token, const ServiceArgs& args) {
  if (table<agentd_tools>(AGENTD_TOOLS_ID) == nullptr) return AGENTD_E_DENIED;
  agentd_tool tool{};
  tool.size = sizeof tool;
  tool.flags = u32(args.number[0]);
  tool.name = args.text[0];
  tool.title = args.text[1];
  tool.description = args.text[2];
  tool.input_schema_json = text_at(args.list, 0);
  tool.output_schema_json = text_at(args.list, 1);
  tool.timeout_ms = u32(args.number[1]);
  tool.tag = args.number[2];
  return tools_.add(token, tool);
}

agentd_status ServiceDesk::add_service(agentd_token token, const ServiceArgs& args) {
  agentd_service_row row{};
  row.size = sizeof row;
  row.flags = u32(args.number[0]);
  row.interface_id = args.text[0];
  row.operation = args.text[1];
  row.timeout_ms = u32(args.number[1]);
  row.tag = args.number[2];
  return tools_.add_service(token, row);
}

agentd_status ServiceDesk::json_field(ServiceOp op, agentd_token token, const ServiceArgs& args, ServiceReply& reply) {
  if (op == ServiceOp::kJsonPayload) {
    const auto* const json = table<agentd_json>(AGENTD_JSON_ID);
    return json == nullptr ? AGENTD_E_DENIED : json->payload(json, token, &reply.text);
  }
  const auto* const field = table<agentd_field>(AGENTD_FIELD_ID);
  if (field == nullptr) return AGENTD_E_DENIED;
  return field->get(field, token, field->key(field, args.text[0]), &reply.text);
}

// ---- services

namespace {

// The value of one parameter: an argument from the worker, or the place of a result.
template <typename Parameter>
struct Given {
  ServiceValue<Parameter> value{};
  Parameter get() {
    if constexpr (is_service_result<Parameter>)
      return &value;
    else
      return value;
  }
};

template <typename Table, typename... Parameters>
agentd_status call_function(agentd_status (AGENTD_CALL* Table::*slot)(const Table*, agentd_token,
                                                                      Parameters...) noexcept,
                            const Table* me, agentd_token token, const ServiceArgs& args, ServiceReply& reply) {
  std::tuple<Given<Parameters>...> values;
  ServicePlaces arguments(args);
  const auto take = [&]<typename Parameter>(Given<Parameter>& to) {
    if constexpr (!is_service_result<Parameter>) to.value = arguments.template take<Parameter>();
  };
  std::apply([&](auto&... each) { (take(each), ...); }, values);
  const agentd_status status = std::apply([&](auto&... each) { return (me->*slot)(me, token, each.get()...); }, values);
  ServicePlaces results(reply);
  const auto give = [&]<typename Parameter>(const Given<Parameter>& from) {
    if constexpr (is_service_result<Parameter>) results.put(from.value);
  };
  std::apply([&](const auto&... each) { (give(each), ...); }, values);
  return status;
}

}  // namespace

template <auto Slot>
agentd_status ServiceDesk::call(agentd_token token, const ServiceArgs& args, ServiceReply& reply) {
  using Table = typename ServiceSignature<decltype(Slot)>::Table;
  const Table* const me = service<Table>();
  if (me == nullptr) return AGENTD_E_DENIED;
  const agentd_status status = call_function(Slot, me, token, args, reply);
  if (status == AGENTD_OK && args.op == static_cast<std::uint32_t>(ServiceOp::kThreadOpen)) {
    const MutexLock lock(mutex_);
    threads_.insert(reply.number[0]);
  }
  return status;
}

agentd_status ServiceDesk::close_thread(agentd_thread thread) {
  const auto* const threads = service<agentd_thread_factory>();
  if (threads == nullptr) return AGENTD_E_DENIED;
  {
    const MutexLock lock(mutex_);
    threads_.erase(thread);
  }
  return threads->close(threads, thread);
}

agentd_status ServiceDesk::run(agentd_token token, const ServiceArgs& args, ServiceReply& reply) {
  const auto op = static_cast<ServiceOp>(args.op);
  switch (op) {
    case ServiceOp::kEmit:
      return context_.core()->emit(context_.core(), token, record<agentd_action>(args));
    case ServiceOp::kComplete:
      return complete(token, i32(args.number[0]));
    case ServiceOp::kToolsAdd:
      return add_tool(token, args);
    case ServiceOp::kProvideAdd:
      return add_service(token, args);
    case ServiceOp::kJsonPayload:
    case ServiceOp::kFieldGet:
      return json_field(op, token, args, reply);
#define AGENTD_CALL_SERVICE(table, function, Name, ...) \
  case ServiceOp::k##Name:                              \
    return call<&agentd_##table::function>(token, args, reply);
      AGENTD_SERVICE_LIST(AGENTD_CALL_SERVICE)
#undef AGENTD_CALL_SERVICE
    case ServiceOp::kNone:
    case ServiceOp::kFail:
    case ServiceOp::kLog:
    case ServiceOp::kScopeOpen:
    case ServiceOp::kScopeClose:
    case ServiceOp::kToolsRemove:
    case ServiceOp::kProvideRemove:
      break;  // run_free() answers them
  }
  return AGENTD_E_INTERNAL;
}

}  // namespace agentd
