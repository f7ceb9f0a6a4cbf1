/* SPDX-License-Identifier: Apache-2.0 */
/* wrong_major.c - built for the next major version of the ABI. */
#define RAW_ABI (2u << 16)
#include "raw.h"
