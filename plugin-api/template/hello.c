/* SPDX-License-Identifier: Apache-2.0 */
/* hello.c - the smallest hook in C: no shell, and a compaction when the context is 70 % full. */
#include <agentd/hook_abi.h>
#include <string.h>

#define TEXT(literal) \
  { literal, sizeof(literal) - 1 }

AGENTD_MANIFEST(
    "{\"id\":\"org.example.hello\","
    "\"version\":\"1.0.0\",\"abi\":\"1.0\","
    "\"events\":[\"before_tool_call\",\"agent_stop\"],\"concurrency\":\"concurrent\"}");

static int is(agentd_str text, const char* name) {
  return text.len == strlen(name) && memcmp(text.ptr, name, text.len) == 0;
}

static agentd_status AGENTD_CALL no_shell(void* self, const agentd_call* call) {
  const agentd_tool_call* tool = (const agentd_tool_call*)call->payload;
  agentd_act_text block = {{sizeof block, AGENTD_ACT_BLOCK, 0}, 0, 0, TEXT("no shell here")};
  (void)self;
  return is(tool->name, "bash") ? call->core->emit(call->core, call->token, &block.h) : AGENTD_OK;
}

static agentd_status AGENTD_CALL compact_when_full(void* self, const agentd_call* call) {
  const agentd_gauge* gauge = ((const agentd_agent_stop*)call->payload)->context;
  agentd_act_compact compact = {{sizeof compact, AGENTD_ACT_COMPACT, 0}, 0, 0, 0, {0, 0}, {0, 0}};
  (void)self;
  if (gauge == NULL || gauge->limit == 0 || gauge->used * 10 <= gauge->limit * 7) return AGENTD_OK;
  return call->core->emit(call->core, call->token, &compact.h);
}

static agentd_status AGENTD_CALL create(const agentd_call* call, void** self) {
  (void)call;
  *self = NULL; /* no state of its own */
  return AGENTD_OK;
}

static const agentd_hook hooks[] = {
    {AGENTD_EVENT_BEFORE_TOOL_CALL, 0, 0, no_shell, 0},
    {AGENTD_EVENT_AGENT_STOP, 0, 0, compact_when_full, 0},
};

static const agentd_plugin plugin = {sizeof(agentd_plugin),
                                     AGENTD_CONCURRENT,
                                     TEXT("org.example.hello"),
                                     TEXT("1.0.0"),
                                     create,
                                     NULL,
                                     NULL,
                                     NULL,
                                     {hooks, sizeof hooks / sizeof hooks[0], sizeof hooks[0]}};

agentd_status AGENTD_CALL agentd_hook_entry_v1(agentd_negotiate* io) {
  static const char too_old[] = "this hook is built for another hook ABI than this agentd has";
  io->magic = AGENTD_MAGIC;
  io->abi = AGENTD_ABI;
  if (io->host_abi_max >> 16 != AGENTD_ABI_MAJOR || io->host_abi_max < AGENTD_ABI) {
    io->error.ptr = too_old;
    io->error.len = sizeof too_old - 1;
    return AGENTD_E_UNSUPPORTED;
  }
  io->plugin = &plugin;
  return AGENTD_OK;
}
