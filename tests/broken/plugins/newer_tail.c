/* SPDX-License-Identifier: Apache-2.0 */
/* newer_tail.c - a longer record that uses what it added. */
#define RAW_SIZE sizeof(raw_plugin)
#define RAW_TAIL 7
#include "raw.h"
