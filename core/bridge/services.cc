// SPDX-License-Identifier: Apache-2.0
// services.cc - agentd.provide/1 and agentd.services/1: the services that a plugin offers and calls.
#include <algorithm>
#include <atomic>
#include <utility>

#include "core/base/bytes.h"
#include "core/bridge/context_state.h"
#include "core/bridge/record.h"

namespace agentd {
namespace {

using State = PluginContext::State;

constexpr std::size_t kServiceRowFirstBytes = 64;  // of its first release

agentd_status refuse_call(State& state, agentd_token token, agentd_status status, std::string why) {
  if (CallSlot* const slot = state.find(token)) slot->fail(token, status, std::move(why));
  return status;
}

bool is_text(const agentd_str& text) { return text.ptr != nullptr || text.len == 0; }

// ---- agentd.provide/1

agentd_status AGENTD_CALL provide_add(const agentd_provide* table, agentd_token token,
                                      const agentd_service_row* raw) noexcept {
  State& state = *reinterpret_cast<const ProvideTable*>(table)->state;
  if (state.abandoned.load()) return AGENTD_E_CANCELLED;
  if (raw == nullptr) return refuse_call(state, token, AGENTD_E_ARG, "provide.add needs a row");
  const auto row = normalise<agentd_service_row>(raw, kServiceRowFirstBytes, "a service's row");
  if (!row)
    return refuse_call(state, token, row.error().code == Code::kConflict ? AGENTD_E_TOO_BIG : AGENTD_E_ARG,
                       row.error().message);
  if (!is_text(row->interface_id) || !is_text(row->operation) || row->fn == nullptr)
    return refuse_call(state, token, AGENTD_E_ARG, "a service's row needs an interface, an operation and a function");
  const std::string_view interface = view_of(row->interface_id), operation = view_of(row->operation);
  if (std::string why = service_name_problem(interface, operation); !why.empty())
    return refuse_call(state, token, AGENTD_E_ARG, std::move(why));
  const MutexLock lock(state.mutex);
  for (const OfferedService& other : state.provided)
    if (other.interface_id == interface && other.operation == operation) return AGENTD_E_CONFLICT;
  if (state.provided.size() >= AGENTD_SERVICE_ROWS_MAX)
    return refuse_call(state, token, AGENTD_E_TOO_BIG,
                       "the operation " + std::string(operation) + " of " + std::string(interface) +
                           " is one too many: a plugin offers at most " + std::to_string(AGENTD_SERVICE_ROWS_MAX));
  state.provided.push_back(
      {std::string(interface), std::string(operation), row->flags, Milliseconds(row->timeout_ms), row->fn, row->tag});
  return AGENTD_OK;
}

agentd_status AGENTD_CALL provide_remove(const agentd_provide* table, agentd_token, agentd_str interface_id,
                                         agentd_str operation) noexcept {
  State& state = *reinterpret_cast<const ProvideTable*>(table)->state;
  const MutexLock lock(state.mutex);
  const auto gone = std::erase_if(state.provided, [&](const OfferedService& each) {
    return each.interface_id == view_of(interface_id) && each.operation == view_of(operation);
  });
  return gone == 0 ? AGENTD_E_NOT_FOUND : AGENTD_OK;
}

// ---- agentd.services/1

// The project of the running call; empty in a scope, where the conversation tells it.
std::string_view project_of(const CallSlot& slot) {
  const Dispatch* const dispatch = slot.dispatch();
  if (dispatch == nullptr) return {};
  if (dispatch->event == AGENTD_EVENT_SERVICE_CALL)
    return view_of(static_cast<const agentd_service_call*>(dispatch->payload)->project_id);
  return dispatch->envelope == nullptr ? std::string_view() : view_of(dispatch->envelope->project_id);
}

agentd_status AGENTD_CALL registry_call(const agentd_registry* table, agentd_token token, agentd_str interface_id,
                                        agentd_str operation, agentd_str input_json, agentd_str* result) noexcept {
  State& state = *reinterpret_cast<const RegistryTable*>(table)->state;
  CallSlot* const slot = state.find(token);
  if (slot == nullptr) return AGENTD_E_NOT_FOUND;
  if (result == nullptr || !is_text(interface_id) || !is_text(operation) || !is_text(input_json))
    return refuse_call(state, token, AGENTD_E_ARG,
                       "registry.call needs an interface, an operation, a JSON text and a pointer for the result");
  if (state.registry == nullptr)
    return refuse_call(state, token, AGENTD_E_UNSUPPORTED, "there are no services in this run of agentd");
  ServiceRequest request;
  request.interface_id = view_of(interface_id);
  request.operation = view_of(operation);
  request.input_json = view_of(input_json);
  request.project_id = state.own_project.empty() ? project_of(*slot) : std::string_view(state.own_project);
  request.caller = state.identity.id;
  request.from = &state.core.table;
  request.conversation = slot->conversation();
  request.cancel = slot->service_cancel();
  request.deadline.at_ns = slot->deadline_ns();
  ServiceAnswer answer = state.registry->call(std::move(request));
  if (!answer) return refuse_call(state, token, answer.error().status, answer.error().message);
  *result = slot->copy(token, *answer);
  return result->ptr == nullptr ? AGENTD_E_NOT_FOUND : AGENTD_OK;
}

}  // namespace

agentd_provide provide_table() { return {sizeof(agentd_provide), 0, provide_add, provide_remove}; }
agentd_registry registry_table() { return {sizeof(agentd_registry), 0, registry_call}; }

void PluginContext::call_services_of(ServiceRegistry* registry, std::string project_id) {
  state_->registry = registry;
  state_->own_project = std::move(project_id);
  if (registry != nullptr) offer(AGENTD_SERVICES_ID, &state_->registry_table);
}

std::vector<OfferedService> PluginContext::provided() const {
  const MutexLock lock(state_->mutex);
  return state_->provided;
}

ServiceAnswer PluginContext::call_service(const OfferedService& service, void* self, const ServiceRequest& request) {
  SlotLease slot(state_->tokens);
  const CancelBinding binding(*slot, request.cancel);
  agentd_service_call payload{};
  payload.size = sizeof payload;
  payload.interface_id = to_abi(request.interface_id);
  payload.operation = to_abi(request.operation);
  payload.input_json = to_abi(request.input_json);
  payload.project_id = to_abi(request.project_id);
  payload.caller = to_abi(request.caller);
  payload.tag = service.tag;
  Dispatch dispatch;
  dispatch.event = AGENTD_EVENT_SERVICE_CALL;
  dispatch.conversation = request.conversation;
  dispatch.payload = &payload;
  dispatch.deadline_ns = request.deadline.at_ns;
  agentd_status status = run_call(*state_, *slot, dispatch, [&](const agentd_call* c) { return service.fn(self, c); });
  CallSlot::Answer answer = slot->take_answer();
  if (status != AGENTD_OK) {
    // A status that the contract does not have counts as a failure.
    if (status > 0) status = AGENTD_E_INTERNAL;
    std::string why = std::move(answer.failure.text);
    if (why.empty())
      why = status == AGENTD_E_DEADLINE    ? "it did not answer before its deadline"
            : status == AGENTD_E_CANCELLED ? "it was cancelled"
                                           : "it returned the status " + std::to_string(status);
    return ServiceError{status, state_->identity.id + ": " + why};
  }
  for (auto action = answer.actions.rbegin(); action != answer.actions.rend(); ++action)
    if (action->kind == AGENTD_ACT_SERVICE_RESULT) return std::move(action->text);
  return std::string("null");
}

}  // namespace agentd
