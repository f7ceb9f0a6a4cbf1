/* SPDX-License-Identifier: Apache-2.0 */
/* bad_stride.c - rows closer to each other than they are long. */
#define RAW_STRIDE 8
#include "raw.h"
