/* SPDX-License-Identifier: Apache-2.0 */
/* size_three.c - a record smaller than its own first field. */
#define RAW_SIZE 3
#include "raw.h"
