/* SPDX-License-Identifier: Apache-2.0 */
/* unknown_flag.c - asks for a row flag of the future. */
#define RAW_ROW \
  { AGENTD_EVENT_TURN_START, 0x4000, 0, raw_hook, 0 }
#include "raw.h"
