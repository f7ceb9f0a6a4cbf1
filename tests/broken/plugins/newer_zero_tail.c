/* SPDX-License-Identifier: Apache-2.0 */
/* newer_zero_tail.c - a longer record with nothing in what it added: this one loads. */
#define RAW_ID "org.agentd.test.zero_tail"
#define RAW_SIZE sizeof(raw_plugin)
#include "raw.h"
