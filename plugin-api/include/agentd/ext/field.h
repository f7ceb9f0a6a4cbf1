/* SPDX-License-Identifier: Apache-2.0 */
/* ext/field.h - "agentd.field/1": one field of the payload by its JSON path, for rare and new fields.
 *
 * Key ids are interned in create(): key("usage.current_context_window"), then get() in the call. In a tool's call
 * (TOOL_INVOKE) the payload is the tool's input: key("path"). A number in a path is an index into an array:
 * key("edits.0.old").
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
  /* Returns a number for a dotted path; the same path gives the same number. 0 = not a path. [init] */
  uint32_t(AGENTD_CALL* key)(const struct agentd_field*, agentd_str path) AGENTD_NOEXCEPT;
  /* Returns the field: text as is, anything else as JSON. AGENTD_E_NOT_FOUND if the payload has none. [any] */
  agentd_status(AGENTD_CALL* get)(const struct agentd_field*, agentd_token, uint32_t key, agentd_str* out)
      AGENTD_NOEXCEPT;
} agentd_field;

AGENTD_LAYOUT(agentd_field, 24);

#ifdef __cplusplus
}
#endif
#endif
