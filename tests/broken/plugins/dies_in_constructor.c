/* SPDX-License-Identifier: Apache-2.0 */
/* dies_in_constructor.c - ends the process while the dynamic linker is still at work. */
#include <stdlib.h>

__attribute__((constructor)) static void die(void) { abort(); }

#define RAW_ID "org.agentd.test.dies_in_constructor"
#include "raw.h"
