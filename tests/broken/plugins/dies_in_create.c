/* SPDX-License-Identifier: Apache-2.0 */
/* dies_in_create.c - loads, and ends the process when an instance is made. */
#include <signal.h>

#define RAW_ID "org.agentd.test.dies_in_create"
#define RAW_CREATE        \
  {                       \
    (void)raise(SIGSEGV); \
    return AGENTD_OK;     \
  }
#include "raw.h"
