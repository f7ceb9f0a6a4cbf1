// SPDX-License-Identifier: Apache-2.0
#include "core/compaction/compaction.h"

namespace agentd {

#define AGENTD_CASE(NUMBER, name) \
  case AGENTD_##NUMBER:           \
    return #name;
#define AGENTD_NAMES(kind, LIST)                     \
  std::string_view kind##_name(std::uint32_t kind) { \
    switch (kind) { LIST(AGENTD_CASE) }              \
    return "?";                                      \
  }
AGENTD_NAMES(trigger, AGENTD_TRIGGER_LIST)
AGENTD_NAMES(reason, AGENTD_REASON_LIST)
AGENTD_NAMES(phase, AGENTD_PHASE_LIST)
AGENTD_NAMES(strategy, AGENTD_STRATEGY_LIST)
AGENTD_NAMES(result, AGENTD_RESULT_LIST)
AGENTD_NAMES(method, AGENTD_METHOD_LIST)
#undef AGENTD_NAMES
#undef AGENTD_CASE

Result<std::uint32_t> parse_strategy(std::string_view name) {
#define AGENTD_WHEN(NUMBER, word) \
  if (name == #word) return AGENTD_##NUMBER;
  AGENTD_STRATEGY_LIST(AGENTD_WHEN)
#undef AGENTD_WHEN
  return Error{Code::kInvalid, "unknown strategy '" + std::string(name) + "': use full, tail or users"};
}

}  // namespace agentd
