// SPDX-License-Identifier: Apache-2.0
#pragma once
// service_list.hpp - the functions of all service tables as one list, and the facts about each by its slot.
//
// The lists themselves are next to the tables in the C headers (hook_services.h explains the columns). The host and the
// tests' fakes use this list as well as the SDK.
//
// Threading: immutable data.

#include <agentd/ext/draft/process.h>
#include <agentd/ext/draft/services.h>
#include <agentd/ext/draft/workspace.h>
#include <agentd/hook_abi.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

// Every table with a list of functions: X(table, LIST).
#define AGENTD_SERVICE_TABLES(X)                     \
  X(compactor, AGENTD_COMPACTOR_FUNCTIONS)           \
  X(thread_factory, AGENTD_THREAD_FACTORY_FUNCTIONS) \
  X(store, AGENTD_STORE_FUNCTIONS)                   \
  X(workspace, AGENTD_WORKSPACE_FUNCTIONS)           \
  X(process, AGENTD_PROCESS_FUNCTIONS)               \
  X(registry, AGENTD_REGISTRY_FUNCTIONS)

#define AGENTD_SERVICE_LIST(X)       \
  AGENTD_COMPACTOR_FUNCTIONS(X)      \
  AGENTD_THREAD_FACTORY_FUNCTIONS(X) \
  AGENTD_STORE_FUNCTIONS(X)          \
  AGENTD_WORKSPACE_FUNCTIONS(X)      \
  AGENTD_PROCESS_FUNCTIONS(X)        \
  AGENTD_REGISTRY_FUNCTIONS(X)

namespace agentd {

// A function of a table, by the pointer to its slot: service_facts_of<&agentd_store::get>.
struct service_facts {
  std::string_view table{};     // "store"
  std::string_view function{};  // "get"
  std::size_t place = 0;        // index among the table's functions, from 0
  bool optional = false;        // its last result may be NULL
  std::string_view needs{};     // the arguments that must not be NULL, in words
};

// The functions of a table follow `size` and `reserved0`, one pointer each.
inline constexpr std::size_t service_head_bytes = 2 * sizeof(std::uint32_t);
template <typename Table>
inline constexpr std::size_t service_function_count = (sizeof(Table) - service_head_bytes) / sizeof(void*);

template <auto Slot>
inline constexpr service_facts service_facts_of{};
#define AGENTD_SERVICE_FACTS(table, function, Name, in, out, optional, needs)                                        \
  template <>                                                                                                        \
  inline constexpr service_facts service_facts_of<&agentd_##table::function>{                                        \
      #table, #function, (offsetof(agentd_##table, function) - service_head_bytes) / sizeof(void*), (optional) != 0, \
      needs};
AGENTD_SERVICE_LIST(AGENTD_SERVICE_FACTS)
#undef AGENTD_SERVICE_FACTS

// The message for a call with a NULL that is not allowed: "workspace.write needs a path and a text".
[[nodiscard]] inline std::string service_needs(const service_facts& facts) {
  return std::string(facts.table).append(".").append(facts.function).append(" needs ").append(facts.needs);
}

#define AGENTD_SERVICE_ONE(...) +1u
#define AGENTD_SERVICE_COUNT(table, LIST)                                              \
  static_assert(service_function_count<agentd_##table> == 0u LIST(AGENTD_SERVICE_ONE), \
                "a function of agentd_" #table " has no row in " #LIST);
AGENTD_SERVICE_TABLES(AGENTD_SERVICE_COUNT)
#undef AGENTD_SERVICE_COUNT
#undef AGENTD_SERVICE_ONE

// True if a parameter of a service function receives a result.
template <typename Parameter>
inline constexpr bool is_service_result =
    std::is_pointer_v<Parameter> && !std::is_const_v<std::remove_pointer_t<Parameter>>;

}  // namespace agentd
