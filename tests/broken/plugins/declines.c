/* SPDX-License-Identifier: Apache-2.0 */
/* declines.c - its entry refuses the host and says why. */
#define RAW_DECLINE "this hook only runs on Sundays"
#include "raw.h"
