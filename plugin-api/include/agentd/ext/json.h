/* SPDX-License-Identifier: Apache-2.0 */
/* ext/json.h - "agentd.json/1": the call's payload as JSON text, the same that executables get.
 *
 * Made at most once per call, on demand, and shared by all hooks.
 */
#ifndef AGENTD_EXT_JSON_H
#define AGENTD_EXT_JSON_H
#include "../hook_abi.h"

#ifdef __cplusplus
extern "C" {
#endif

#define AGENTD_JSON_ID "agentd.json/1"

typedef struct agentd_json {
  uint32_t size, reserved0;
  /* One JSON object, envelope and payload; in a tool's call (TOOL_INVOKE) only the tool's input. Lives until the token
   * ends. AGENTD_E_UNSUPPORTED for scopes and control calls. [any] */
  agentd_status(AGENTD_CALL* payload)(const struct agentd_json*, agentd_token, agentd_str* out) AGENTD_NOEXCEPT;
} agentd_json;

AGENTD_LAYOUT(agentd_json, 16);

#ifdef __cplusplus
}
#endif
#endif
