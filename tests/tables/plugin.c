/* SPDX-License-Identifier: Apache-2.0 */
/* plugin.c - what a plugin in C sees of the event that one_of_each.cmake adds. */
#include <agentd/hook_abi.h>

unsigned test_event_id(void);
unsigned test_event_actions(void);

unsigned test_event_id(void) { return AGENTD_EVENT_TEST_EVENT; }

#define ACTIONS(NAME, name, id, payload, blocking, continues, actions, ...) \
  case id:                                                                  \
    return actions;

unsigned test_event_actions(void) {
  switch (AGENTD_EVENT_TEST_EVENT) { AGENTD_EVENT_TABLE(ACTIONS) }
  return 0;
}
