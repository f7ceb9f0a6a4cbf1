/* SPDX-License-Identifier: Apache-2.0 */
/* ext/tools.h - "agentd.tools/1": a plugin contributes tools.
 *
 * Scenario: in create() the plugin asks core->query("agentd.tools/1", sizeof(agentd_tools)) and adds its
 * tools. When the model calls one, `fn` gets event TOOL_INVOKE with an agentd_tool_call whose `tool` is
 * the tag of the row; it emits TOOL_OUTPUT pieces (at most 64 KiB each) and ends with TOOL_RESULT.
 * Returning OK without a TOOL_RESULT is a success with the output so far. PENDING is allowed.
 */
#ifndef AGENTD_EXT_TOOLS_H
#define AGENTD_EXT_TOOLS_H
#include "../hook_abi.h"

#ifdef __cplusplus
extern "C" {
#endif

#define AGENTD_TOOLS_ID "agentd.tools/1"

#define AGENTD_TOOL_READ_ONLY 1u   /* changes nothing outside the process             */
#define AGENTD_TOOL_IDEMPOTENT 2u  /* may be run again after a crash                  */
#define AGENTD_TOOL_DESTRUCTIVE 4u /* may delete or overwrite                         */
#define AGENTD_TOOL_OPEN_WORLD 8u  /* reaches beyond the workspace                    */

typedef struct agentd_tool {
  uint32_t size;
  uint32_t flags; /* AGENTD_TOOL_ */
  agentd_str name, title, description;
  agentd_str input_schema_json;  /* JSON Schema of an object            */
  agentd_str output_schema_json; /* absent = text                       */
  uint32_t timeout_ms;           /* 0 = the host's 10 minutes           */
  uint32_t reserved0;
  agentd_fn fn; /* [call]                            */
  uint64_t tag; /* returned as agentd_tool_call.tool */
} agentd_tool;

typedef struct agentd_tools {
  uint32_t size, reserved0;
  /* Adds a tool. During create it is part of the published snapshot; later it is available from the next turn on.
   * AGENTD_E_CONFLICT if the name is taken. [any] */
  agentd_status(AGENTD_CALL* add)(const struct agentd_tools*, agentd_token, const agentd_tool*) AGENTD_NOEXCEPT;
  /* Removes a tool; running calls finish. AGENTD_E_NOT_FOUND. [any] */
  agentd_status(AGENTD_CALL* remove)(const struct agentd_tools*, agentd_token, agentd_str name) AGENTD_NOEXCEPT;
} agentd_tools;

AGENTD_LAYOUT(agentd_tool, 112);
AGENTD_LAYOUT(agentd_tools, 24);

#ifdef __cplusplus
}
#endif
#endif
