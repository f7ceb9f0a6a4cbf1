/* SPDX-License-Identifier: Apache-2.0 */
/* size_garbage.c - a size that was never set. */
#define RAW_SIZE 0xffffffffu
#include "raw.h"
