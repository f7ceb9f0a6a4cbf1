/* SPDX-License-Identifier: Apache-2.0 */
/* noop.c - gives no answer; built once for each NAME, with the EVENT that it subscribes to. */
#include <agentd/hook_abi.h>

#define ID "org.agentd.bench." NAME

static agentd_status AGENTD_CALL look(void* self, const agentd_call* call) {
  (void)self;
  (void)call;
  return AGENTD_OK;
}

static agentd_status AGENTD_CALL create(const agentd_call* call, void** self) {
  (void)call;
  *self = NULL;
  return AGENTD_OK;
}

static const agentd_hook rows[] = {{EVENT, 0, 0, look, 0}};
static const agentd_plugin plugin = {
    sizeof(agentd_plugin),         AGENTD_SERIAL, {ID, sizeof ID - 1}, {"1.0.0", 5}, create, NULL, NULL, NULL,
    {rows, 1, sizeof(agentd_hook)}};

AGENTD_MANIFEST("{\"id\":\"" ID "\",\"version\":\"1.0.0\",\"abi\":\"1.0\",\"concurrency\":\"serial\"}");

AGENTD_EXPORT agentd_status AGENTD_CALL agentd_hook_entry_v1(agentd_negotiate* io) {
  io->magic = AGENTD_MAGIC;
  io->abi = AGENTD_ABI;
  io->plugin = &plugin;
  return AGENTD_OK;
}
