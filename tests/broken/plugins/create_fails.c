/* SPDX-License-Identifier: Apache-2.0 */
/* create_fails.c - create() refuses with a sentence. */
#define RAW_CREATE                                                 \
  {                                                                \
    static const char why[] = "the key api_url is missing";        \
    const agentd_str text = {why, sizeof(why) - 1};                \
    call->core->fail(call->core, call->token, AGENTD_E_ARG, text); \
    return AGENTD_E_ARG;                                           \
  }
#include "raw.h"
