/* SPDX-License-Identifier: Apache-2.0 */
/* ext/draft/process.h - "agentd.process/1": commands, run by the host within its limits.
 *
 * Draft: only for a plugin whose manifest lists the id under "drafts". A command gets a session and process group of
 * its own and no descriptor beyond 0 to 2; at the deadline its complete group is killed.
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
  uint32_t timeout_ms;       /* 0 = 2 minutes; the call's deadline applies too */
  agentd_list argv;          /* agentd_str; argv[0] is looked up in PATH       */
  agentd_str cwd;            /* empty = the call's cwd                         */
  agentd_str input;          /* standard input                                 */
  uint64_t output_bytes_max; /* kept of stdout and stderr together; 0 = 1 MiB  */
} agentd_process_options;

#define AGENTD_PROCESS_TIMED_OUT 1u
#define AGENTD_PROCESS_CANCELLED 2u
#define AGENTD_PROCESS_TRUNCATED 4u

typedef struct agentd_process_result {
  uint32_t size;
  uint32_t flags;        /* AGENTD_PROCESS_                                                     */
  int32_t exit_code;     /* -1 if a signal ended it                                             */
  int32_t signal;        /* 0 = none                                                            */
  agentd_str output;     /* stdout and stderr in order of arrival; with TRUNCATED head and tail */
  uint64_t output_bytes; /* bytes that the command wrote                                        */
  uint64_t duration_ns;
} agentd_process_result;

typedef struct agentd_process {
  uint32_t size, reserved0;
  /* Runs a command and waits for it. AGENTD_E_NOT_FOUND: no such program. [any] */
  agentd_status(AGENTD_CALL* run)(const struct agentd_process*, agentd_token, const agentd_process_options*,
                                  const agentd_process_result** out) AGENTD_NOEXCEPT;
} agentd_process;

/* Its functions; hook_services.h explains the columns. */
/* clang-format off */
#define AGENTD_PROCESS_FUNCTIONS(X)                                                                \
  X(process, run, ProcessRun, none, none, 0, "options and a pointer for the result")
/* clang-format on */

/* The addresses in the records; hook_events.h explains the rows. */
/* clang-format off */
#define AGENTD_PROCESS_RECORDS(X)                                                                  \
  X(process_options, AGENTD_LIST(argv, text), AGENTD_TEXT(cwd), AGENTD_TEXT(input))                \
  X(process_result, AGENTD_TEXT(output))
/* clang-format on */

AGENTD_LAYOUT(agentd_process_options, 64);
AGENTD_LAYOUT(agentd_process_result, 48);
AGENTD_LAYOUT(agentd_process, 16);

#ifdef __cplusplus
}
#endif
#endif
