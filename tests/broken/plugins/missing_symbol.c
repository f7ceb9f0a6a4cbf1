/* SPDX-License-Identifier: Apache-2.0 */
/* missing_symbol.c - exports everything but the entry. */
#define RAW_NO_ENTRY
#include "raw.h"
