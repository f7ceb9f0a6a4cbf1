/* SPDX-License-Identifier: Apache-2.0 */
/* unknown_row.c - subscribes to an event of the future and means it. */
#define RAW_ROW \
  { 40, 0, 0, raw_hook, 0 }
#include "raw.h"
