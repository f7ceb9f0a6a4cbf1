/* SPDX-License-Identifier: Apache-2.0 */
/* ext/draft/process.h - "agentd.process/1": commands, run by the host within its limits.
 *
 * Draft: only for a plugin whose manifest lists the id under "drafts". A command gets a session and process group of
 * its own and no descriptor beyond 0 to 2; at its end everything that it started ends as well.
 *
 * run() waits for a command. start() returns a handle: a number from 1 on that names the command in the session of the
 * calling token, for every plugin and call of that session. The command runs on after the call and ends with the
 * session. Without a session the handles are those of the plugin's host.
 *
 * Scenario: start() a server, read() its output by pieces until it is ready, and end() it later:
 *   read(me, token, handle, AGENTD_PROCESS_UNREAD, 0, 1000, &piece)
 */
#ifndef AGENTD_EXT_PROCESS_H
#define AGENTD_EXT_PROCESS_H
#include "../../hook_abi.h"

#ifdef __cplusplus
extern "C" {
#endif

#define AGENTD_PROCESS_ID "agentd.process/1"

/* agentd_process_options.flags, for start() */
#define AGENTD_PROCESS_TAKES_INPUT 1u /* standard input stays open for write(), after `input`    */
#define AGENTD_PROCESS_TERMINAL 2u    /* all three are one terminal, which takes input as well   */

typedef struct agentd_process_options {
  uint32_t size;
  uint32_t timeout_ms;       /* run: 0 = 2 minutes, and the call's deadline applies; start: 0 = no limit       */
  agentd_list argv;          /* agentd_str; argv[0] is looked up in PATH                                       */
  agentd_str cwd;            /* empty = the call's cwd                                                         */
  agentd_str input;          /* standard input                                                                 */
  uint64_t output_bytes_max; /* kept in memory of stdout and stderr together; 0 = 1 MiB for run, 64 KiB for
                                start. Beyond it the complete output is in a file, up to the host's limit      */
  agentd_list environment;   /* agentd_str "NAME=value", added to the host's own selection. AGENTD_E_DENIED for
                                LD_*, BASH_ENV, ENV, AGENTD_* and *_API_KEY                                    */
  uint32_t flags;            /* AGENTD_PROCESS_TAKES_INPUT, AGENTD_PROCESS_TERMINAL                            */
  uint32_t rows, columns;    /* of the terminal; 0 = 24 and 80                                                 */
  uint32_t reserved0;
  uint64_t output_bytes_limit; /* start: it is ended when it has written more; 0 = no limit                    */
  agentd_str description;      /* one line for people; may be empty                                            */
} agentd_process_options;

/* agentd_process_result.flags */
#define AGENTD_PROCESS_TIMED_OUT 1u
#define AGENTD_PROCESS_CANCELLED 2u
#define AGENTD_PROCESS_TRUNCATED 4u

/* Why a command ended. */
#define AGENTD_PROCESS_REASON_EXITED 1u        /* by itself, with an exit code                         */
#define AGENTD_PROCESS_REASON_SIGNALLED 2u     /* by a signal that the host did not send               */
#define AGENTD_PROCESS_REASON_TIMED_OUT 3u     /* its time was over                                    */
#define AGENTD_PROCESS_REASON_CANCELLED 4u     /* the call that waited for it was cancelled            */
#define AGENTD_PROCESS_REASON_ENDED 5u         /* by end() or SIGKILL of signal()                      */
#define AGENTD_PROCESS_REASON_SESSION_ENDED 6u /* with its session                                     */
#define AGENTD_PROCESS_REASON_OUTPUT_LIMIT 7u  /* it wrote more than output_bytes_limit                */

typedef struct agentd_process_result {
  uint32_t size;
  uint32_t flags;        /* AGENTD_PROCESS_TIMED_OUT, ...                                               */
  int32_t exit_code;     /* -1 if a signal ended it                                                     */
  int32_t signal;        /* 0 = none                                                                    */
  agentd_str output;     /* stdout and stderr in order of arrival; with TRUNCATED head and tail         */
  uint64_t output_bytes; /* bytes that the command wrote                                                */
  uint64_t duration_ns;
  uint32_t reason; /* AGENTD_PROCESS_REASON_                                                            */
  uint32_t reserved0;
  agentd_str spill_path; /* with TRUNCATED: the file with the complete output; empty = there is none    */
  uint64_t spill_bytes;  /* in it; fewer than output_bytes: the host's limit was reached                */
} agentd_process_result;

#define AGENTD_PROCESS_STATE_RUNNING 1u
#define AGENTD_PROCESS_STATE_ENDING 2u /* SIGTERM was sent                */
#define AGENTD_PROCESS_STATE_ENDED 3u

/* agentd_process_state.flags, in addition to those of the options */
#define AGENTD_PROCESS_SPILL_FULL 4u /* output is missing in the file   */

/* A command that was started, at one moment. */
typedef struct agentd_process_state {
  uint32_t size;
  uint32_t flags; /* AGENTD_PROCESS_TAKES_INPUT, _TERMINAL, _SPILL_FULL                  */
  uint64_t handle;
  uint32_t state;  /* AGENTD_PROCESS_STATE_                                              */
  uint32_t reason; /* AGENTD_PROCESS_REASON_; 0 before it has ended                      */
  int32_t exit_code;
  int32_t signal;
  uint64_t output_bytes; /* written so far                                               */
  uint64_t spill_bytes;
  uint64_t duration_ns;   /* so far                                                       */
  agentd_str command;     /* its arguments, one line, possibly shortened                  */
  agentd_str description; /* of the options                                               */
  agentd_str spill_path;  /* as in the result                                             */
} agentd_process_state;

/* A position of read(): after the last piece that was read with it, by any plugin of the session. */
#define AGENTD_PROCESS_UNREAD UINT64_MAX

/* A piece of output: bytes first to next - 1 of all that the command wrote. */
typedef struct agentd_process_piece {
  uint32_t size;
  uint32_t reserved0;
  uint64_t first; /* later than the position asked for: what is between is no longer kept */
  uint64_t next;  /* the position of the next read()                                      */
  agentd_str bytes;
  const agentd_process_state* state; /* at that moment. The output is complete once it has ended and next is
                                        output_bytes                                                         */
} agentd_process_piece;

typedef struct agentd_process {
  uint32_t size, reserved0;
  /* Runs a command and waits for it. AGENTD_E_NOT_FOUND: no such program. [any] */
  agentd_status(AGENTD_CALL* run)(const struct agentd_process*, agentd_token, const agentd_process_options*,
                                  const agentd_process_result** out) AGENTD_NOEXCEPT;
  /* Starts a command. AGENTD_E_NOT_FOUND: no such program; AGENTD_E_BUSY: too many commands of the session run. [any]
   */
  agentd_status(AGENTD_CALL* start)(const struct agentd_process*, agentd_token, const agentd_process_options*,
                                    uint64_t* handle) AGENTD_NOEXCEPT;
  /* AGENTD_E_NOT_FOUND of the following: no such command in the session, or it ended long ago. */
  /* Reads at most `limit` bytes (0 = 64 KiB) from `position` on; waits up to `wait_ms` for the first one. [any] */
  agentd_status(AGENTD_CALL* read)(const struct agentd_process*, agentd_token, uint64_t handle, uint64_t position,
                                   uint64_t limit, uint32_t wait_ms, const agentd_process_piece** out) AGENTD_NOEXCEPT;
  /* Writes all of `bytes` to its input, and with `close` 1 ends the input. AGENTD_E_ARG: it takes none;
   * AGENTD_E_IO: it has ended or closed its input; AGENTD_E_BUSY: it did not read before the deadline. [any] */
  agentd_status(AGENTD_CALL* write)(const struct agentd_process*, agentd_token, uint64_t handle, agentd_str bytes,
                                    uint32_t close) AGENTD_NOEXCEPT;
  /* Sends a signal (1 to 64) to its process group; SIGKILL (9) ends all that it started. [any] */
  agentd_status(AGENTD_CALL* signal)(const struct agentd_process*, agentd_token, uint64_t handle, uint32_t number)
      AGENTD_NOEXCEPT;
  /* Waits up to `wait_ms` for its end and returns its state, which may be RUNNING. [any] */
  agentd_status(AGENTD_CALL* wait)(const struct agentd_process*, agentd_token, uint64_t handle, uint32_t wait_ms,
                                   const agentd_process_state** out) AGENTD_NOEXCEPT;
  /* Lists agentd_process_state: those that run and the newest that have ended, oldest first. [any] */
  agentd_status(AGENTD_CALL* list)(const struct agentd_process*, agentd_token, agentd_list* out) AGENTD_NOEXCEPT;
  /* Sets the size of its terminal. AGENTD_E_ARG: it has none. [any] */
  agentd_status(AGENTD_CALL* resize)(const struct agentd_process*, agentd_token, uint64_t handle, uint32_t rows,
                                     uint32_t columns) AGENTD_NOEXCEPT;
  /* Ends it and all that it started, SIGTERM first, and waits for that; AGENTD_OK if it has ended before. [any] */
  agentd_status(AGENTD_CALL* end)(const struct agentd_process*, agentd_token, uint64_t handle,
                                  const agentd_process_state** out) AGENTD_NOEXCEPT;
} agentd_process;

/* Its functions; hook_services.h explains the columns. */
/* clang-format off */
#define AGENTD_PROCESS_FUNCTIONS(X)                                                                \
  X(process, run, ProcessRun, none, none, 0, "options and a pointer for the result")               \
  X(process, start, ProcessStart, none, none, 0, "options and a pointer for the handle")           \
  X(process, read, ProcessRead, none, none, 0, "a pointer for the piece")                          \
  X(process, write, ProcessWrite, none, none, 0, "a text")                                         \
  X(process, signal, ProcessSignal, none, none, 0, "a handle")                                     \
  X(process, wait, ProcessWait, none, none, 0, "a pointer for the state")                          \
  X(process, list, ProcessList, none, process_state, 0, "a pointer for the list")                  \
  X(process, resize, ProcessResize, none, none, 0, "a handle")                                     \
  X(process, end, ProcessEnd, none, none, 0, "a pointer for the state")
/* clang-format on */

/* The addresses in the records; hook_events.h explains the rows. */
/* clang-format off */
#define AGENTD_PROCESS_RECORDS(X)                                                                  \
  X(process_options, AGENTD_LIST(argv, text), AGENTD_TEXT(cwd), AGENTD_TEXT(input),                \
    AGENTD_LIST(environment, text), AGENTD_TEXT(description))                                      \
  X(process_result, AGENTD_TEXT(output), AGENTD_TEXT(spill_path))                                  \
  X(process_state, AGENTD_TEXT(command), AGENTD_TEXT(description), AGENTD_TEXT(spill_path))        \
  X(process_piece, AGENTD_TEXT(bytes), AGENTD_POINTER(state, process_state))
/* clang-format on */

AGENTD_LAYOUT(agentd_process_options, 120);
AGENTD_LAYOUT(agentd_process_result, 80);
AGENTD_LAYOUT(agentd_process_state, 104);
AGENTD_LAYOUT(agentd_process_piece, 48);
AGENTD_LAYOUT(agentd_process, 80);

#ifdef __cplusplus
}
#endif
#endif
