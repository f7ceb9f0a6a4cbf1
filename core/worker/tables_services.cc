// SPDX-License-Identifier: Apache-2.0
// tables_services.cc - the service tables for the plugin of a worker: each function calls the host.
#include "core/isolation/service_call.h"
#include "core/worker/table_state.h"

namespace agentd::worker {
namespace {

// An incomplete call is not sent.
agentd_status incomplete(const Request& request, const service_facts& facts) {
  return facts.needs.empty() ? AGENTD_E_ARG : request.fail(AGENTD_E_ARG, service_needs(facts));
}

template <typename Parameter>
bool is_there(const service_facts& facts, Parameter parameter) {
  if constexpr (is_service_result<Parameter>)
    return parameter != nullptr;
  else if constexpr (std::is_pointer_v<Parameter>)
    return facts.needs.empty() || parameter != nullptr;
  else if constexpr (std::is_same_v<Parameter, agentd_str>)
    return facts.needs.empty() || parameter.ptr != nullptr || parameter.len == 0;
  return true;
}

// True if nothing is missing; the last result may be, if the function's row allows it.
template <typename... Parameters>
bool is_complete(const service_facts& facts, Parameters... parameters) {
  std::size_t left = sizeof...(parameters);
  return ((--left == 0 && facts.optional ? true : is_there(facts, parameters)) && ...);
}

template <auto Slot, typename Table, typename... Parameters>
agentd_status AGENTD_CALL ask_host(const Table* me, agentd_token token, Parameters... parameters) noexcept {
  constexpr service_facts kFacts = service_facts_of<Slot>;
  Request request(state_of(me), token);
  if (request.stale()) return AGENTD_E_NOT_FOUND;
  if (!is_complete(kFacts, parameters...)) return incomplete(request, kFacts);
  ServiceArgs args = args_for(static_cast<ServiceOp>(kFirstOp<Table> + kFacts.place));
  ServicePlaces taken(args);
  const auto take = [&]<typename Parameter>(Parameter parameter) {
    if constexpr (!is_service_result<Parameter>) taken.put(parameter);
  };
  (take(parameters), ...);
  const agentd_status status = request.run(args);
  if (status != AGENTD_OK) return status;
  ServicePlaces given(request.reply());
  const auto give = [&]<typename Parameter>(Parameter parameter) {
    if constexpr (is_service_result<Parameter>)
      if (parameter != nullptr) *parameter = given.template take<ServiceValue<Parameter>>();
  };
  (give(parameters), ...);
  return AGENTD_OK;
}

// Needs no token; inside of a call it goes the way of that call.
template <auto Slot, typename Table>
agentd_status AGENTD_CALL ask_without_token(const Table* me, std::uint64_t number) noexcept {
  Request request(state_of(me), HostLine::own_token());
  ServiceArgs args = args_for(static_cast<ServiceOp>(kFirstOp<Table> + service_facts_of<Slot>.place));
  args.number[0] = number;
  return request.run(args);
}

template <auto Slot, typename Table, typename... Parameters>
constexpr auto function_for(agentd_status (AGENTD_CALL* Table::*)(const Table*, agentd_token, Parameters...) noexcept) {
  if constexpr (sizeof...(Parameters) == 0)
    return &ask_without_token<Slot, Table>;
  else
    return &ask_host<Slot, Table, Parameters...>;
}

}  // namespace

#define AGENTD_FUNCTION(table, function, ...) \
  made.function = function_for<&agentd_##table::function>(&agentd_##table::function);
#define AGENTD_TABLE(table, LIST)  \
  agentd_##table table##_table() { \
    agentd_##table made{};         \
    made.size = sizeof made;       \
    LIST(AGENTD_FUNCTION)          \
    return made;                   \
  }
AGENTD_SERVICE_TABLES(AGENTD_TABLE)
#undef AGENTD_TABLE
#undef AGENTD_FUNCTION

}  // namespace agentd::worker
