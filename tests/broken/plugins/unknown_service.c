/* SPDX-License-Identifier: Apache-2.0 */
/* unknown_service.c - its manifest requires a service that nobody offers. */
#define RAW_MANIFEST \
  "{\"id\":\"" RAW_ID "\",\"version\":\"1.0.0\",\"abi\":\"1.0\",\"requires\":[\"agentd.time_travel/1\"]}"
#include "raw.h"
