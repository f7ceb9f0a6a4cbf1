// SPDX-License-Identifier: Apache-2.0
// table_state.cc - the table of core functions, and Request.
#include "core/worker/table_state.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "core/base/bytes.h"
#include "core/hooks/event.h"
#include "core/isolation/flat.h"
#include "core/isolation/message_shapes.h"

namespace agentd::worker {
namespace {

using State = Tables::State;

constexpr std::size_t kSentenceMax = 16 * 1024;                // the host shortens it further
constexpr std::size_t kMemoryBytesMax = std::size_t{1} << 30;  // of one core->arena()

agentd_str shortened(const agentd_str& text) {
  const std::string_view kept = text_of(text).substr(0, kSentenceMax);
  return {kept.data(), kept.size()};
}

std::uint64_t as_number(std::int32_t value) { return static_cast<std::uint64_t>(static_cast<std::int64_t>(value)); }

void say(State& state, agentd_token token, ServiceOp op, std::int32_t number, const agentd_str& text) {
  ServiceArgs args = args_for(op);
  args.number[0] = as_number(number);
  args.text[0] = shortened(text);
  (void)state.line.ask(token, args);
}

void AGENTD_CALL core_fail(const agentd_core* core, agentd_token token, agentd_status status,
                           agentd_str what) noexcept {
  say(state_of(core), token, ServiceOp::kFail, status, what);
}

void AGENTD_CALL core_log(const agentd_core* core, agentd_token token, int32_t level, agentd_str text) noexcept {
  say(state_of(core), token, ServiceOp::kLog, std::clamp(level, AGENTD_LEVEL_DEBUG, AGENTD_LEVEL_ERROR), text);
}

const void* AGENTD_CALL core_query(const agentd_core* core, agentd_str id, uint32_t min_size) noexcept {
  const State& state = state_of(core);
  const auto found = state.interfaces.find(text_of(id));
  if (found == state.interfaces.end()) return nullptr;
  std::uint32_t size = 0;
  std::memcpy(&size, found->second, sizeof size);
  return size >= min_size ? found->second : nullptr;
}

uint32_t AGENTD_CALL core_event_id(const agentd_core*, agentd_str name) noexcept {
  const EventTraits* const event = find_event(text_of(name));
  return event == nullptr ? 0 : event->id;
}

agentd_status AGENTD_CALL core_emit(const agentd_core* core, agentd_token token, const agentd_action* action) noexcept {
  Request request(state_of(core), token);
  if (request.stale()) return AGENTD_E_NOT_FOUND;
  if (request.call().scope()) return AGENTD_E_UNSUPPORTED;  // no event waits for an answer
  ServiceArgs args = args_for(ServiceOp::kEmit);
  if (action == nullptr) {
    say(request.state(), token, ServiceOp::kLog, AGENTD_LEVEL_WARNING, to_abi_text("emit() without an action"));
    return AGENTD_E_ARG;
  }
  args.number[0] = action->kind;
  args.record[0] = action;
  return request.run(args);
}

void* AGENTD_CALL core_arena(const agentd_core* core, agentd_token token, size_t bytes, size_t align) noexcept {
  if (align == 0 || align > 64 || (align & (align - 1)) != 0 || bytes > kMemoryBytesMax) return nullptr;
  const OpenCallPtr call = state_of(core).calls.find(token);
  return call == nullptr ? nullptr : call->allocate(bytes, align);
}

agentd_status AGENTD_CALL core_complete(const agentd_core* core, agentd_token token, agentd_status status) noexcept {
  Request request(state_of(core), token);
  if (request.stale() || status == AGENTD_PENDING) return AGENTD_E_NOT_FOUND;
  ServiceArgs args = args_for(ServiceOp::kComplete);
  args.number[0] = as_number(status);
  const agentd_status answer = request.run(args);
  // The call has ended in any case: now, or on the host's side before.
  request.state().calls.completed(token);
  return answer;
}

agentd_status AGENTD_CALL core_scope_open(const agentd_core* core, agentd_conv conversation, uint64_t deadline_ns,
                                          agentd_token* out, const agentd_live** live) noexcept {
  if (out == nullptr) return AGENTD_E_ARG;
  State& state = state_of(core);
  Request request(state, HostLine::own_token());
  ServiceArgs args = args_for(ServiceOp::kScopeOpen);
  args.number[0] = conversation;
  args.number[1] = deadline_ns;
  const agentd_status status = request.run(args);
  if (status != AGENTD_OK) return status;
  const agentd_token token = request.reply().number[0];
  state.calls.open(token, true);
  *out = token;
  // In the payload window, which is at the same address on both sides.
  if (live != nullptr) *live = reinterpret_cast<const agentd_live*>(request.reply().number[1]);
  return AGENTD_OK;
}

void AGENTD_CALL core_scope_close(const agentd_core* core, agentd_token token) noexcept {
  State& state = state_of(core);
  const OpenCallPtr call = state.calls.find(token);
  if (call == nullptr || !call->scope()) return;
  state.calls.close_scope(token);
  (void)state.line.ask(token, args_for(ServiceOp::kScopeClose));
}

uint64_t AGENTD_CALL core_now_ns(const agentd_core* core) noexcept { return state_of(core).clock.monotonic_ns(); }

}  // namespace

agentd_core core_table() {
  return {sizeof(agentd_core), AGENTD_ABI_MINOR, core_fail,     core_log,        core_query,       core_event_id,
          core_emit,           core_arena,       core_complete, core_scope_open, core_scope_close, core_now_ns};
}

ServiceArgs args_for(ServiceOp op) {
  ServiceArgs args;
  args.op = static_cast<std::uint32_t>(op);
  return args;
}

std::string_view text_of(const agentd_str& text) {
  return text.ptr == nullptr ? std::string_view() : std::string_view(text.ptr, text.len);
}

agentd_str to_abi_text(std::string_view text) { return {text.data(), text.size()}; }

agentd_status Request::fail(agentd_status status, std::string_view text) const {
  say(state_, token_, ServiceOp::kFail, status, to_abi_text(text));
  return status;
}

agentd_status Request::run(const ServiceArgs& args) {
  HostLine::Answer answer = state_.line.ask(token_, args);
  if (!answer.error.empty()) return fail(answer.status, answer.error);
  return answer.status == AGENTD_OK ? keep(args, answer.body) : answer.status;
}

// A reply without texts and records needs no memory of the token.
agentd_status Request::keep(const ServiceArgs& args, const std::string& body) {
  const Shape& shape = *reply_shape(args.op);
  FlatBytes small;
  std::byte* bytes = nullptr;
  if (body.size() == sizeof(ServiceReply)) {
    small = FlatBytes(body);
    bytes = small.data();
  } else if (call_ != nullptr) {
    bytes = static_cast<std::byte*>(call_->allocate(body.size(), alignof(std::uint64_t)));
    if (bytes == nullptr) return AGENTD_E_NOMEM;
    std::memcpy(bytes, body.data(), body.size());
  }
  if (bytes == nullptr || !relocate(shape, std::span(bytes, body.size())))
    give_up("the host sent a malformed answer to a request of the hook");
  std::memcpy(&reply_, bytes, sizeof reply_);
  if (reply_.text.ptr != nullptr && reply_.text.len == 0) reply_.text.ptr = "";  // not in `small`
  return AGENTD_OK;
}

State::State(HostLine& host_line, CallTable& open_calls)
    : line(host_line),
      calls(open_calls),
      core{core_table(), this},
      tools_table{worker::tools_table(), this},
      json{json_table(), this},
      field{field_table(), this},
      compactor{compactor_table(), this},
      threads{thread_factory_table(), this},
      store{store_table(), this},
      workspace{workspace_table(), this},
      process{process_table(), this},
      provide{provide_table(), this},
      registry{registry_table(), this} {}

Tables::Tables(const BootArgs& args, HostLine& line, CallTable& calls, const TaskPool& tasks)
    : state_(std::make_unique<State>(line, calls)) {
  State& state = *state_;
  if ((args.services & kBootCompactor) != 0) state.services.compactor = &state.compactor.table;
  if ((args.services & kBootThreads) != 0) state.services.threads = &state.threads.table;
  if ((args.services & kBootStore) != 0) state.services.store = &state.store.table;
  const std::map<std::string, const void*, std::less<>> known{
      {AGENTD_TOOLS_ID, &state.tools_table.table},   {AGENTD_JSON_ID, &state.json.table},
      {AGENTD_FIELD_ID, &state.field.table},         {AGENTD_TASKS_ID, tasks.table()},
      {AGENTD_WORKSPACE_ID, &state.workspace.table}, {AGENTD_PROCESS_ID, &state.process.table},
      {AGENTD_PROVIDE_ID, &state.provide.table},     {AGENTD_SERVICES_ID, &state.registry.table}};
  const auto* const ids = static_cast<const agentd_str*>(args.interfaces.first);
  for (std::uint32_t i = 0; i < args.interfaces.count; ++i)
    if (const auto found = known.find(text_of(ids[i])); found != known.end()) state.interfaces.insert(*found);
}

Tables::~Tables() = default;

const agentd_core* Tables::core() const { return &state_->core.table; }
const agentd_services* Tables::services() const { return &state_->services; }

std::optional<Tables::Function> Tables::function(std::uint64_t number) const {
  const MutexLock lock(state_->mutex);
  const auto found = state_->functions.find(number);
  if (found == state_->functions.end()) return std::nullopt;
  return found->second;
}

}  // namespace agentd::worker
