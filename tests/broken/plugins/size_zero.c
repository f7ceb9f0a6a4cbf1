/* SPDX-License-Identifier: Apache-2.0 */
/* size_zero.c - a record that was never filled in. */
#define RAW_SIZE 0
#include "raw.h"
