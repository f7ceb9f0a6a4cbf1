/* SPDX-License-Identifier: Apache-2.0 */
/* create_fails_silently.c - create() refuses without a word. */
#define RAW_CREATE return AGENTD_E_NOMEM
#include "raw.h"
