# SPDX-License-Identifier: Apache-2.0
# one_edit.cmake - copies the C headers and adds one line to the list of events.
#
# cmake -DFROM=plugin-api/include -DTO=folder -P one_edit.cmake
file(REMOVE_RECURSE ${TO}/agentd)
file(COPY ${FROM}/agentd DESTINATION ${TO})
file(READ ${TO}/agentd/hook_events.h text)
set(place "  /* the next event goes here */\n")
string(CONCAT row "  ROW(X, TEST_EVENT, test_event, 63, agentd_notification, 1, 0, AGENTD_MAY(BLOCK), 0, "
  "\"a test adds an event\", \"level, text\") \\\n")
string(REPLACE "${place}" "${row}${place}" edited "${text}")
if(edited STREQUAL text)
  message(FATAL_ERROR "one_edit: no line '${place}' in hook_events.h")
endif()
file(WRITE ${TO}/agentd/hook_events.h "${edited}")
