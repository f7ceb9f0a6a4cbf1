/* SPDX-License-Identifier: Apache-2.0 */
/* bad_concurrency.c - a concurrency that does not exist. */
#define RAW_CONCURRENCY 9
#include "raw.h"
