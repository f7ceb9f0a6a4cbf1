/* SPDX-License-Identifier: Apache-2.0 */
/* size_odd.c - a size that no compiler gives. */
#define RAW_SIZE 91
#include "raw.h"
