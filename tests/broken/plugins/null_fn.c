/* SPDX-License-Identifier: Apache-2.0 */
/* null_fn.c - subscribes with no function. */
#define RAW_ROW \
  { AGENTD_EVENT_TURN_START, 0, 0, NULL, 0 }
#include "raw.h"
