/* SPDX-License-Identifier: Apache-2.0 */
/* wrong_magic.c - its entry answers with another magic number. */
#define RAW_MAGIC 0x12345678u
#include "raw.h"
