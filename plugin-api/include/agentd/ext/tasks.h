/* SPDX-License-Identifier: Apache-2.0 */
/* ext/tasks.h - "agentd.tasks/1": OS threads that the host knows, and joins before destroy().
 *
 * A plugin that starts threads itself must end them before destroy() returns, in every error path; with this interface
 * the host does it. A task runs outside of calls: it gets a token from core->scope_open() if it needs services. In a
 * worker the thread runs in the worker.
 */
#ifndef AGENTD_EXT_TASKS_H
#define AGENTD_EXT_TASKS_H
#include "../hook_abi.h"

#ifdef __cplusplus
extern "C" {
#endif

#define AGENTD_TASKS_ID "agentd.tasks/1"
#define AGENTD_TASKS_MAX 16u /* per instance, at the same time */

/* The body of a task: it returns soon after live->cancel is set. No exception may leave it. [task] */
typedef void(AGENTD_CALL* agentd_task_fn)(void* context, const agentd_live* live) AGENTD_NOEXCEPT;

typedef struct agentd_tasks {
  uint32_t size, reserved0;
  /* Runs fn(context, live) on a thread of its own. Debuggers and the log show `name` (at most 15 bytes); *out is never
   * 0. AGENTD_E_BUSY if AGENTD_TASKS_MAX are running, AGENTD_E_NOMEM if the system has no thread, AGENTD_E_CANCELLED
   * once destroy() has begun. [any] */
  agentd_status(AGENTD_CALL* start)(const struct agentd_tasks*, agentd_str name, agentd_task_fn fn, void* context,
                                    uint64_t* out) AGENTD_NOEXCEPT;
  /* Sets the task's cancel word and waits for its end; AGENTD_OK if it has ended already. AGENTD_E_NOT_FOUND for an
   * unknown task, AGENTD_E_THREAD if a task stops itself. [any] */
  agentd_status(AGENTD_CALL* stop)(const struct agentd_tasks*, uint64_t task) AGENTD_NOEXCEPT;
} agentd_tasks;

AGENTD_LAYOUT(agentd_tasks, 24);

#ifdef __cplusplus
}
#endif
#endif
