// SPDX-License-Identifier: Apache-2.0
#include "core/workers/service_desk.h"

#include <agentd/ext/draft/process.h>
#include <agentd/ext/draft/workspace.h>

#include "core/isolation/flat.h"

namespace agentd {
namespace {

std::uint32_t u32(std::uint64_t number) { return static_cast<std::uint32_t>(number); }
std::int32_t i32(std::uint64_t number) { return static_cast<std::int32_t>(u32(number)); }

template <typename T>
const T* record(const ServiceArgs& args, std::size_t index = 0) {
  return static_cast<const T*>(args.record[index]);
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
  if (op == ServiceOp::kThreadClose) return run_threads(op, token, args, reply);
  done = false;
  return AGENTD_OK;
}

agentd_status ServiceDesk::run(agentd_token token, const ServiceArgs& args, ServiceReply& reply) {
  const auto op = static_cast<ServiceOp>(args.op);
  if (op < ServiceOp::kToolsAdd) return run_core(op, token, args, reply);
  if (op == ServiceOp::kToolsAdd) return add_tool(token, args);
  if (op < ServiceOp::kCountText) return json_field(op, token, args, reply);
  if (op < ServiceOp::kThreadOpen) return run_compactor(op, token, args, reply);
  if (op < ServiceOp::kStoreGet) return run_threads(op, token, args, reply);
  if (op < ServiceOp::kWorkspaceRead) return run_store(op, token, args, reply);
  if (op < ServiceOp::kProcessRun) return run_workspace(op, token, args, reply);
  return run_process(token, args, reply);
}

agentd_status ServiceDesk::run_core(ServiceOp op, agentd_token token, const ServiceArgs& args, ServiceReply&) {
  const agentd_core* const core = context_.core();
  if (op == ServiceOp::kEmit) return core->emit(core, token, record<agentd_action>(args));
  const agentd_status status = core->complete(core, token, i32(args.number[0]));
  if (status == AGENTD_OK) ledger_.set_completed(token, i32(args.number[0]));
  return status;
}

// ---- scopes

agentd_status ServiceDesk::open_scope(const ServiceArgs& args, ServiceReply& reply) {
  const std::lock_guard lock(mutex_);
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
    const std::lock_guard lock(mutex_);
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
    const std::lock_guard lock(mutex_);
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

agentd_status ServiceDesk::json_field(ServiceOp op, agentd_token token, const ServiceArgs& args, ServiceReply& reply) {
  if (op == ServiceOp::kJsonPayload) {
    const auto* const json = table<agentd_json>(AGENTD_JSON_ID);
    return json == nullptr ? AGENTD_E_DENIED : json->payload(json, token, &reply.text);
  }
  const auto* const field = table<agentd_field>(AGENTD_FIELD_ID);
  if (field == nullptr) return AGENTD_E_DENIED;
  return field->get(field, token, field->key(field, args.text[0]), &reply.text);
}

agentd_status ServiceDesk::run_workspace(ServiceOp op, agentd_token token, const ServiceArgs& args,
                                         ServiceReply& reply) {
  const auto* const files = table<agentd_workspace>(AGENTD_WORKSPACE_ID);
  if (files == nullptr) return AGENTD_E_DENIED;
  const agentd_str path = args.text[0];
  if (op == ServiceOp::kWorkspaceRead)
    return files->read(files, token, path, args.number[0], args.number[1], &reply.text, &reply.number[0]);
  if (op == ServiceOp::kWorkspaceWrite) return files->write(files, token, path, args.text[1]);
  if (op == ServiceOp::kWorkspaceReplace) return files->replace(files, token, path, args.text[1], args.text[2]);
  std::uint32_t more = 0;
  const agentd_status status =
      files->list(files, token, path, u32(args.number[0]), u32(args.number[1]), &reply.list, &more);
  reply.number[0] = more;
  return status;
}

agentd_status ServiceDesk::run_process(agentd_token token, const ServiceArgs& args, ServiceReply& reply) {
  const auto* const process = table<agentd_process>(AGENTD_PROCESS_ID);
  if (process == nullptr) return AGENTD_E_DENIED;
  const agentd_process_result* result = nullptr;
  const agentd_status status = process->run(process, token, record<agentd_process_options>(args), &result);
  reply.record = result;
  return status;
}

// ---- services

agentd_status ServiceDesk::run_compactor(ServiceOp op, agentd_token token, const ServiceArgs& args,
                                         ServiceReply& reply) {
  const agentd_compactor* const me = context_.services()->compactor;
  if (me == nullptr) return AGENTD_E_DENIED;
  const auto* const options = record<agentd_compact_options>(args);
  if (op == ServiceOp::kCountText) return me->count_text(me, token, args.text[0], args.text[1], &reply.number[0]);
  if (op == ServiceOp::kCountMessages) return me->count_messages(me, token, args.text[0], args.list, &reply.number[0]);
  if (op == ServiceOp::kPrompt) return me->prompt(me, token, options, &reply.text);
  if (op == ServiceOp::kRequest) return me->request(me, token, args.text[0], options);
  const agentd_compact_result* result = nullptr;
  const agentd_status status =
      me->compact(me, token, record<agentd_compact_source>(args), record<agentd_compact_options>(args, 1), &result);
  reply.record = result;
  return status;
}

agentd_status ServiceDesk::run_threads(ServiceOp op, agentd_token token, const ServiceArgs& args, ServiceReply& reply) {
  const agentd_thread_factory* const me = context_.services()->threads;
  if (me == nullptr) return AGENTD_E_DENIED;
  const agentd_thread thread = args.number[0];
  if (op == ServiceOp::kThreadOpen) {
    const agentd_status status = me->open(me, token, record<agentd_thread_options>(args), &reply.number[0]);
    const std::lock_guard lock(mutex_);
    if (status == AGENTD_OK) threads_.insert(reply.number[0]);
    return status;
  }
  if (op == ServiceOp::kThreadClose) {
    {
      const std::lock_guard lock(mutex_);
      threads_.erase(thread);
    }
    return me->close(me, thread);
  }
  if (op == ServiceOp::kThreadSend) {
    const agentd_reply* answer = nullptr;
    const agentd_status status = me->send(me, token, thread, args.text[0], &answer);
    reply.record = answer;
    return status;
  }
  const agentd_usage* usage = nullptr;
  const agentd_status status = me->usage(me, token, thread, &usage);
  reply.record = usage;
  return status;
}

agentd_status ServiceDesk::run_store(ServiceOp op, agentd_token token, const ServiceArgs& args, ServiceReply& reply) {
  const agentd_store* const me = context_.services()->store;
  if (me == nullptr) return AGENTD_E_DENIED;
  const agentd_str text = args.text[0];
  const std::uint64_t(&number)[4] = args.number;
  if (op == ServiceOp::kStoreGet) {
    const agentd_kv* found = nullptr;
    const agentd_status status = me->get(me, token, text, &found);
    reply.record = found;
    return status;
  }
  if (op == ServiceOp::kStoreScan) return me->scan(me, token, text, args.text[1], u32(number[0]), &reply.list);
  if (op == ServiceOp::kStoreCommit) return me->commit(me, token, args.list, &reply.number[0]);
  if (op == ServiceOp::kStoreConversations)
    return me->conversations(me, token, record<agentd_conv_query>(args), &reply.list);
  if (op == ServiceOp::kStoreMessages)
    return me->messages(me, token, text, u32(number[0]), number[1], number[2], u32(number[3]), &reply.list);
  if (op == ServiceOp::kStoreReadBlob) return me->read_blob(me, token, text, number[0], number[1], &reply.text);
  return me->changes(me, token, number[0], u32(number[1]), &reply.list, &reply.number[0]);
}

}  // namespace agentd
