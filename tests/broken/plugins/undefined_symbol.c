/* SPDX-License-Identifier: Apache-2.0 */
/* undefined_symbol.c - uses a function that nobody has. */
extern int agentd_test_nobody_has_this(void);
#define RAW_CREATE return agentd_test_nobody_has_this()
#include "raw.h"
