/* SPDX-License-Identifier: Apache-2.0 */
/* unknown_optional_row.c - subscribes to an event of the future if there is one: this one loads. */
#define RAW_ID "org.agentd.test.optional"
#define RAW_ROW \
  {40, AGENTD_HOOK_OPTIONAL, 0, raw_hook, 0}, { AGENTD_EVENT_TURN_START, 0, 0, raw_hook, 0 }
#include "raw.h"
