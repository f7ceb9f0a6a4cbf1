// SPDX-License-Identifier: Apache-2.0
// service_tables.cc - compactor, thread factory and store as C tables in front of hooks::Services.
#include <agentd/service_list.hpp>

#include <tuple>
#include <utility>

#include "core/bridge/service_values.h"

namespace agentd {
namespace {

// Moves the call's deadline on by the time that its services took: it is the host's, not the
// hook's.
class HostTime {
 public:
  HostTime(const Ask& ask, bool counts) : ask_(ask), counts_(counts) {
    if (counts_) ask_.slot().begin_host_time(ask_.token(), ask_.state().clock.monotonic_ns());
  }
  ~HostTime() {
    if (counts_) ask_.slot().end_host_time(ask_.token(), ask_.state().clock.monotonic_ns());
  }
  HostTime(const HostTime&) = delete;
  HostTime& operator=(const HostTime&) = delete;

 private:
  const Ask& ask_;
  const bool counts_;
};

// ---- properties of a function besides its signature

struct ServiceRule {
  bool host_time = false;  // the call's deadline is extended by the time that it takes
  bool told = true;        // an error's text becomes the call's
  agentd_status denied =
      AGENTD_E_DENIED;     // the status of a refusal; other statuses than AGENTD_E_DENIED are always reported
  std::uint32_t page = 0;  // the meaning of a limit of 0
};
template <auto Slot>
constexpr ServiceRule kRule{};
template <>
constexpr ServiceRule kRule<&agentd_compactor::compact>{.host_time = true};
template <>  // refused: the budget is spent
constexpr ServiceRule kRule<&agentd_thread_factory::send>{.host_time = true, .denied = AGENTD_E_TOO_BIG};
template <>
constexpr ServiceRule kRule<&agentd_store::get>{.told = false};
template <>
constexpr ServiceRule kRule<&agentd_store::scan>{.page = 100};
template <>  // refused: the budget of the plugin's keys is spent
constexpr ServiceRule kRule<&agentd_store::commit>{.told = false, .denied = AGENTD_E_TOO_BIG};
template <>
constexpr ServiceRule kRule<&agentd_store::messages>{.page = 1'000};
template <>
constexpr ServiceRule kRule<&agentd_store::changes>{.page = 100};

// Invalid arguments are refused with AGENTD_E_ARG and no text.
template <auto Slot>
struct Accepts {
  static bool all(const auto&...) { return true; }
};
template <>
struct Accepts<&agentd_compactor::compact> {
  static bool all(const agentd_compact_source* source, const auto&...) { return source != nullptr; }
};
template <>
struct Accepts<&agentd_store::messages> {
  static bool all(agentd_str, std::uint32_t scope, const auto&...) {
    return scope == AGENTD_SCOPE_VIEW || scope == AGENTD_SCOPE_LOG;
  }
};

// ---- the functions

// The record behind a table, which is its first member.
PluginContext::State& state_of(const agentd_compactor* table) {
  return *reinterpret_cast<const CompactorTable*>(table)->state;
}
PluginContext::State& state_of(const agentd_thread_factory* table) {
  return *reinterpret_cast<const ThreadsTable*>(table)->state;
}
PluginContext::State& state_of(const agentd_store* table) { return *reinterpret_cast<const StoreTable*>(table)->state; }

// The parameters of a method of Services after the caller.
template <typename Method>
struct MethodOf;
template <typename Returned, typename... Parameters>
struct MethodOf<Returned (Services::*)(Parameters...)> {
  using Wanted = std::tuple<Parameters...>;
  static constexpr bool kCaller = false;
};
template <typename Returned, typename... Parameters>
struct MethodOf<Returned (Services::*)(const ServiceCaller&, Parameters...)> {
  using Wanted = std::tuple<Parameters...>;
  static constexpr bool kCaller = true;
};

template <typename T>
Result<T> result_of(Result<T>&& answer) {
  return std::move(answer);
}
Result<std::uint64_t> result_of(std::uint64_t answer) { return answer; }

template <auto Slot>
agentd_status refuse(const Ask& ask, const Error& error) {
  constexpr ServiceRule kMine = kRule<Slot>;
  const bool denied = error.code == Code::kDenied && kMine.denied != AGENTD_E_DENIED;
  const agentd_status status = kMine.told || denied ? ask.fail(error) : status_of(error.code);
  return denied ? kMine.denied : status;
}

// True if every result has a pointer; the last one may be missing if the function's row allows it.
template <auto Slot, typename... Parameters>
bool has_places(Parameters... parameters) {
  std::size_t left = sizeof...(parameters);
  const auto is_there = [&]<typename Parameter>(Parameter parameter) {
    if constexpr (is_service_result<Parameter>)
      return (--left == 0 && service_facts_of<Slot>.optional) || parameter != nullptr;
    --left;
    return true;
  };
  return (is_there(parameters) && ...);
}

template <auto Slot, auto Method, std::size_t... Taken, std::size_t... Given, typename... Parameters>
agentd_status ask_backend(const Ask& ask, std::index_sequence<Taken...>, std::index_sequence<Given...>,
                          const std::tuple<Parameters...>& from) {
  using Wanted = typename MethodOf<decltype(Method)>::Wanted;
  std::tuple<Argument<std::tuple_element_t<Taken, std::tuple<Parameters...>>, std::tuple_element_t<Taken, Wanted>>...>
      arguments;
  Result<void> loaded;
  (void)((loaded = std::get<Taken>(arguments).load(std::get<Taken>(from), kRule<Slot>.page), loaded.has_value()) &&
         ...);
  if (!loaded) return refuse<Slot>(ask, loaded.error());
  Services& backend = ask.state().backend;
  const auto answer = result_of([&] {
    if constexpr (MethodOf<decltype(Method)>::kCaller)
      return (backend.*Method)(ask.caller(), std::move(std::get<Taken>(arguments).value)...);
    else
      return (backend.*Method)(std::move(std::get<Taken>(arguments).value)...);
  }());
  if (!answer) return refuse<Slot>(ask, answer.error());
  if constexpr (sizeof...(Given) == 0)
    return AGENTD_OK;
  else
    return give(ask, *answer, std::get<sizeof...(Taken) + Given>(from)...);
}

// The C function for a method.
template <auto Slot, auto Method, typename Table, typename... Parameters>
agentd_status AGENTD_CALL serve(const Table* me, agentd_token token, Parameters... parameters) noexcept {
  constexpr std::size_t kTaken = std::tuple_size_v<typename MethodOf<decltype(Method)>::Wanted>;
  const Ask ask(state_of(me), token);
  if (ask.stale()) return AGENTD_E_NOT_FOUND;
  if (!has_places<Slot>(parameters...) || !Accepts<Slot>::all(parameters...)) return AGENTD_E_ARG;
  const HostTime host_time(ask, kRule<Slot>.host_time);
  return ask_backend<Slot, Method>(ask, std::make_index_sequence<kTaken>(),
                                   std::make_index_sequence<sizeof...(Parameters) - kTaken>(),
                                   std::tuple(parameters...));
}

// The only function without a token.
agentd_status AGENTD_CALL close_thread(const agentd_thread_factory* me, agentd_thread thread) noexcept {
  PluginContext::State& state = state_of(me);
  if (state.abandoned.load()) return AGENTD_E_CANCELLED;
  auto closed = state.backend.close_thread(state.identity.id, thread);
  return closed ? AGENTD_OK : status_of(closed.error().code);
}

template <auto Slot, auto Method, typename Table, typename... Parameters>
constexpr auto function_for(agentd_status (AGENTD_CALL* Table::*)(const Table*, agentd_token, Parameters...) noexcept) {
  if constexpr (sizeof...(Parameters) == 0)
    return &close_thread;
  else
    return &serve<Slot, Method, Table, Parameters...>;
}

#define AGENTD_ONE(...) +1u
static_assert(0u AGENTD_SERVICE_METHODS(AGENTD_ONE) == service_function_count<agentd_compactor> +
                                                           service_function_count<agentd_thread_factory> +
                                                           service_function_count<agentd_store>,
              "a function of the services has no row in AGENTD_SERVICE_METHODS");
#undef AGENTD_ONE

}  // namespace

void fill_service_tables(PluginContext::State& state) {
  state.compactor.table.size = sizeof(agentd_compactor);
  state.thread_factory.table.size = sizeof(agentd_thread_factory);
  state.store.table.size = sizeof(agentd_store);
  state.compactor.state = state.thread_factory.state = state.store.state = &state;
#define AGENTD_SERVE(table_name, function, method, ...) \
  state.table_name.table.function =                     \
      function_for<&agentd_##table_name::function, &Services::method>(&agentd_##table_name::function);
  AGENTD_SERVICE_METHODS(AGENTD_SERVE)
#undef AGENTD_SERVE
  if (state.grants.compactor) state.services.compactor = &state.compactor.table;
  if (state.grants.threads) state.services.threads = &state.thread_factory.table;
  if (state.grants.store) state.services.store = &state.store.table;
}

}  // namespace agentd
