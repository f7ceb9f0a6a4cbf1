/* SPDX-License-Identifier: Apache-2.0 */
/* ext/draft/provide.h - "agentd.provide/1": a plugin offers services to the host and to other plugins.
 *
 * Draft: only for a plugin whose manifest lists the id under "drafts". Scenario: in create() the plugin asks
 * core->query("agentd.provide/1", sizeof(agentd_provide)) and adds one row per operation. When agentd or another plugin
 * (services.h) calls the operation, `fn` gets event SERVICE_CALL with an agentd_service_call whose `tag` is the row's.
 * It answers with emit(SERVICE_RESULT), an agentd_act_text whose text is one JSON value of at most
 * AGENTD_SERVICE_JSON_MAX bytes, and returns OK; OK without a result is the JSON value null. An error is core->fail()
 * with one sentence, and its status. PENDING is allowed. Deadline and cancel are those of every call.
 *
 * One interface has one provider, unless the interface says that its offers add up: the plugin that the user's settings
 * name (services.NAME), else the first by order. A plugin of a project offers nothing unless the user's settings name
 * it; add() is then AGENTD_OK and the rows are never called.
 *
 * Numbers and texts only cross, so a plugin in a worker offers services like any other.
 */
#ifndef AGENTD_EXT_PROVIDE_H
#define AGENTD_EXT_PROVIDE_H
#include "../../hook_abi.h"

#ifdef __cplusplus
extern "C" {
#endif

#define AGENTD_PROVIDE_ID "agentd.provide/1"
#define AGENTD_SERVICE_JSON_MAX 1048576u /* bytes of an input, and of a result             */
#define AGENTD_SERVICE_NAME_MAX 64u      /* bytes of an interface id, and of an operation  */
#define AGENTD_SERVICE_ROWS_MAX 128u     /* operations that one plugin offers at a time    */

#define AGENTD_SERVICE_READ_ONLY 1u  /* changes nothing                */
#define AGENTD_SERVICE_IDEMPOTENT 2u /* may be called again            */

/* One operation of one interface. */
typedef struct agentd_service_row {
  uint32_t size;
  uint32_t flags;          /* AGENTD_SERVICE_                                                            */
  agentd_str interface_id; /* with its version: "agentd.memory/1". Letters, digits, '.', '-', '_'; '/'N  */
  agentd_str operation;    /* "search". Letters, digits, '.', '-', '_'                                   */
  uint32_t timeout_ms;     /* 0 = the host's 30 seconds; the caller's deadline applies too               */
  uint32_t reserved0;
  agentd_fn fn; /* [call]                              */
  uint64_t tag; /* returned as agentd_service_call.tag */
} agentd_service_row;

/* The payload of SERVICE_CALL. agentd_call.conversation is the caller's, 0 = none. */
typedef struct agentd_service_call {
  uint32_t size;
  uint32_t reserved0;
  agentd_str interface_id;
  agentd_str operation;
  agentd_str input_json; /* one JSON value, at most AGENTD_SERVICE_JSON_MAX bytes; checked by the host    */
  agentd_str project_id; /* the caller's project; empty = none                                            */
  agentd_str caller;     /* the id of the calling plugin, or "core"                                       */
  uint64_t tag;          /* agentd_service_row.tag                                                        */
} agentd_service_call;

typedef struct agentd_provide {
  uint32_t size, reserved0;
  /* Adds an operation. Rows of create() are offered when the plugin is; later ones immediately. AGENTD_E_ARG for a
   * malformed row, AGENTD_E_CONFLICT if the plugin offers the operation already, AGENTD_E_TOO_BIG for one row too many.
   * [any] */
  agentd_status(AGENTD_CALL* add)(const struct agentd_provide*, agentd_token, const agentd_service_row*)
      AGENTD_NOEXCEPT;
  /* Removes an operation; running calls finish. AGENTD_E_NOT_FOUND. [any] */
  agentd_status(AGENTD_CALL* remove)(const struct agentd_provide*, agentd_token, agentd_str interface_id,
                                     agentd_str operation) AGENTD_NOEXCEPT;
} agentd_provide;

/* The addresses in the records; hook_events.h explains the rows. A row is not listed: its function stays in its
 * process, and the host knows it by a number. */
/* clang-format off */
#define AGENTD_PROVIDE_RECORDS(X)                                                                  \
  X(service_call, AGENTD_TEXT(interface_id), AGENTD_TEXT(operation), AGENTD_TEXT(input_json),      \
    AGENTD_TEXT(project_id), AGENTD_TEXT(caller))
/* clang-format on */

AGENTD_LAYOUT(agentd_service_row, 64);
AGENTD_LAYOUT(agentd_service_call, 96);
AGENTD_LAYOUT(agentd_provide, 24);

#ifdef __cplusplus
}
#endif
#endif
