/* SPDX-License-Identifier: Apache-2.0 */
/* ext/draft/services.h - "agentd.services/1": calls of services that agentd and its plugins offer.
 *
 * Draft: only for a plugin whose manifest lists the id under "drafts". The interface id carries the version:
 * "agentd.memory/1". No call fires an event.
 */
#ifndef AGENTD_EXT_SERVICES_H
#define AGENTD_EXT_SERVICES_H
#include "../../hook_abi.h"

#ifdef __cplusplus
extern "C" {
#endif

#define AGENTD_SERVICES_ID "agentd.services/1"

typedef struct agentd_registry {
  uint32_t size, reserved0;
  /* Calls an operation and waits for its result, one JSON value that lives until the token ends. Input and result have
   * at most AGENTD_SERVICE_JSON_MAX bytes (provide.h). The call's deadline applies, and the time counts: waiting for
   * the provider is the caller's. With an error the text is core->fail()'s, so that the caller may return the status.
   *   AGENTD_E_UNSUPPORTED  no plugin offers the operation
   *   AGENTD_E_BUSY         the call would wait for itself: the provider is waiting, directly or through others, for
   *                         the caller; answered immediately
   *   AGENTD_E_ARG          the input is not JSON; AGENTD_E_TOO_BIG: input or result is too long
   *   AGENTD_E_DEADLINE, AGENTD_E_CANCELLED; otherwise the provider's status
   * [any] */
  agentd_status(AGENTD_CALL* call)(const struct agentd_registry*, agentd_token, agentd_str interface_id,
                                   agentd_str operation, agentd_str input_json, agentd_str* result) AGENTD_NOEXCEPT;
} agentd_registry;

/* Its functions; hook_services.h explains the columns. */
/* clang-format off */
#define AGENTD_REGISTRY_FUNCTIONS(X)                                                               \
  X(registry, call, RegistryCall, none, none, 0,                                                   \
    "an interface, an operation, a JSON text and a pointer for the result")
/* clang-format on */

AGENTD_LAYOUT(agentd_registry, 16);

#ifdef __cplusplus
}
#endif
#endif
