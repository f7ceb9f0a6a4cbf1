/* SPDX-License-Identifier: Apache-2.0 */
/* ext/draft/process.h - "agentd.process/1": commands, run by the host with its limits.
 *
 * Draft: a plugin reaches it only when its manifest lists the id under "drafts". A command gets its own
 * session and process group, no descriptor beyond 0 to 2, and dies with all of its group at the deadline.
 */
#ifndef AGENTD_EXT_PROCESS_H
#define AGENTD_EXT_PROCESS_H
#include "../../hook_abi.h"

#ifdef __cplusplus
extern "C" {
#endif

#define AGENTD_PROCESS_ID "agentd.process/1"

typedef struct agentd_process_options {
  uint32_t size;
  uint32_t timeout_ms;       /* 0 = 2 minutes; the call's deadline holds too                     */
  agentd_list argv;          /* agentd_str; argv[0] is looked up in PATH                         */
  agentd_str cwd;            /* empty = the call's                                               */
  agentd_str input;          /* standard input                                                   */
  uint64_t output_bytes_max; /* kept of stdout and stderr together; 0 = 1 MiB                 */
} agentd_process_options;

#define AGENTD_PROCESS_TIMED_OUT 1u
#define AGENTD_PROCESS_CANCELLED 2u
#define AGENTD_PROCESS_TRUNCATED 4u

typedef struct agentd_process_result {
  uint32_t size;
  uint32_t flags;        /* AGENTD_PROCESS_                                                    */
  int32_t exit_code;     /* -1 when a signal ended it                                          */
  int32_t signal;        /* 0 = none                                                           */
  agentd_str output;     /* stdout and stderr as they came; with TRUNCATED its head and tail   */
  uint64_t output_bytes; /* bytes that the command wrote                                      */
  uint64_t duration_ns;
} agentd_process_result;

typedef struct agentd_process {
  uint32_t size, reserved0;
  /* Runs a command and waits for it. AGENTD_E_NOT_FOUND: no such program. [any] */
  agentd_status(AGENTD_CALL* run)(const struct agentd_process*, agentd_token, const agentd_process_options*,
                                  const agentd_process_result** out) AGENTD_NOEXCEPT;
} agentd_process;

AGENTD_LAYOUT(agentd_process_options, 64);
AGENTD_LAYOUT(agentd_process_result, 48);
AGENTD_LAYOUT(agentd_process, 16);

#ifdef __cplusplus
}
#endif
#endif
