/* SPDX-License-Identifier: Apache-2.0 */
/* id_differs.c - its manifest speaks of somebody else. */
#define RAW_MANIFEST_ID "org.agentd.test.other"
#include "raw.h"
