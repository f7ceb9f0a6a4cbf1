/* SPDX-License-Identifier: Apache-2.0 */
/* ext/tasks.h - "agentd.tasks/1": OS threads that the host knows of, and joins before destroy().
 *
 * A plugin that starts threads by itself has to end them before destroy() returns, in every error path; one
 * that asks the host does not. A task runs outside of every call: it gets a token from
 * core->scope_open() when it wants services. In a worker the thread lives in the worker.
 */
#ifndef AGENTD_EXT_TASKS_H
#define AGENTD_EXT_TASKS_H
#include "../hook_abi.h"

#ifdef __cplusplus
extern "C" {
#endif

#define AGENTD_TASKS_ID "agentd.tasks/1"
#define AGENTD_TASKS_MAX 16u /* of one instance, at once */

/* The body of a task: return soon when live->cancel is set. No exception leaves it. [task] */
typedef void(AGENTD_CALL* agentd_task_fn)(void* context, const agentd_live* live) AGENTD_NOEXCEPT;

typedef struct agentd_tasks {
  uint32_t size, reserved0;
  /* Runs fn(context, live) on a thread of its own; `name` (at most 15 bytes are shown) is what debuggers and
   * the log call it; *out is never 0. AGENTD_E_BUSY when AGENTD_TASKS_MAX run already, AGENTD_E_NOMEM when the
   * system gives no thread, AGENTD_E_CANCELLED once destroy() has begun. [any] */
  agentd_status(AGENTD_CALL* start)(const struct agentd_tasks*, agentd_str name, agentd_task_fn fn, void* context,
                                    uint64_t* out) AGENTD_NOEXCEPT;
  /* Sets the task's cancel word and waits for its end; AGENTD_OK for one that has ended already.
   * AGENTD_E_NOT_FOUND for one that never was, AGENTD_E_THREAD when a task stops itself. [any] */
  agentd_status(AGENTD_CALL* stop)(const struct agentd_tasks*, uint64_t task) AGENTD_NOEXCEPT;
} agentd_tasks;

AGENTD_LAYOUT(agentd_tasks, 24);

#ifdef __cplusplus
}
#endif
#endif
