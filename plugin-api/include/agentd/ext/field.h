/* SPDX-License-Identifier: Apache-2.0 */
/* ext/field.h - "agentd.field/1": one field of the payload by its JSON path, for the rare and the new.
 *
 * Key ids are interned in create(): key("usage.current_context_window"), then get() in the call. In a
 * call of a tool (TOOL_INVOKE) the payload is the tool's input: key("path"). A number in a path is the
 * place in an array: key("edits.0.old").
 */
#ifndef AGENTD_EXT_FIELD_H
#define AGENTD_EXT_FIELD_H
#include "../hook_abi.h"

#ifdef __cplusplus
extern "C" {
#endif

#define AGENTD_FIELD_ID "agentd.field/1"

typedef struct agentd_field {
  uint32_t size, reserved0;
  /* A number for a dotted path; the same path gives the same number. 0 = not a path. [init] */
  uint32_t(AGENTD_CALL* key)(const struct agentd_field*, agentd_str path) AGENTD_NOEXCEPT;
  /* The field: text as it is, anything else as JSON. AGENTD_E_NOT_FOUND when the payload has none. [any] */
  agentd_status(AGENTD_CALL* get)(const struct agentd_field*, agentd_token, uint32_t key, agentd_str* out)
      AGENTD_NOEXCEPT;
} agentd_field;

AGENTD_LAYOUT(agentd_field, 24);

#ifdef __cplusplus
}
#endif
#endif
