/* SPDX-License-Identifier: Apache-2.0 */
/* idle.c - looks at how many messages there are and gives no answer; built once for each CONCURRENCY. */
#include <agentd/hook_abi.h>

static agentd_status AGENTD_CALL look(void* self, const agentd_call* call) {
  const agentd_agent_stop* const stop = (const agentd_agent_stop*)call->payload;
  (void)self;
  return stop->messages.count == UINT32_MAX ? AGENTD_E_INTERNAL : AGENTD_OK;
}

static agentd_status AGENTD_CALL create(const agentd_call* call, void** self) {
  (void)call;
  *self = NULL;
  return AGENTD_OK;
}

static const agentd_hook rows[] = {{AGENTD_EVENT_AGENT_STOP, 0, 0, look, AGENTD_WANTS_MESSAGES}};
static const agentd_plugin plugin = {
    sizeof(agentd_plugin),         CONCURRENCY, {"org.agentd.bench.idle", 21}, {"1.0.0", 5}, create, NULL, NULL, NULL,
    {rows, 1, sizeof(agentd_hook)}};

AGENTD_MANIFEST(
    "{\"id\":\"org.agentd.bench.idle\",\"version\":\"1.0.0\",\"abi\":\"1.0\",\"concurrency\":\"" CONCURRENCY_NAME
    "\"}");

AGENTD_EXPORT agentd_status AGENTD_CALL agentd_hook_entry_v1(agentd_negotiate* io) {
  io->magic = AGENTD_MAGIC;
  io->abi = AGENTD_ABI;
  io->plugin = &plugin;
  return AGENTD_OK;
}
