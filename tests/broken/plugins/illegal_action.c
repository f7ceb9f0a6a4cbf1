/* SPDX-License-Identifier: Apache-2.0 */
/* illegal_action.c - asks for a compaction where none can be, and goes on as if it had been heard. */
#define RAW_ID "org.agentd.test.illegal_action"
#define RAW_ROW \
  { AGENTD_EVENT_BEFORE_TOOL_CALL, 0, 10, raw_hook, 0 }
#define RAW_HOOK                                                                                                \
  {                                                                                                             \
    agentd_act_compact action = {                                                                               \
        {sizeof(agentd_act_compact), AGENTD_ACT_COMPACT, 0}, AGENTD_STRATEGY_FULL, 0, 0, {NULL, 0}, {NULL, 0}}; \
    (void)call->core->emit(call->core, call->token, &action.h);                                                 \
    return AGENTD_OK;                                                                                           \
  }
#include "raw.h"
