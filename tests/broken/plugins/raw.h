/* SPDX-License-Identifier: Apache-2.0 */
/* raw.h - a module written by hand, of which each source here breaks one rule.
 *
 * A source defines what it wants different before it includes this file; everything else is as it ought
 * to be. */
#include <agentd/hook_abi.h>

#ifndef RAW_ID
#define RAW_ID "org.agentd.test.raw"
#endif
#ifndef RAW_MANIFEST_ID
#define RAW_MANIFEST_ID RAW_ID
#endif
#ifndef RAW_MAGIC
#define RAW_MAGIC AGENTD_MAGIC
#endif
#ifndef RAW_ABI
#define RAW_ABI AGENTD_ABI
#endif
#ifndef RAW_SIZE
#define RAW_SIZE sizeof(raw_plugin.known)
#endif
#ifndef RAW_CONCURRENCY
#define RAW_CONCURRENCY AGENTD_SERIAL
#endif
#ifndef RAW_ROW
#define RAW_ROW \
  { AGENTD_EVENT_TURN_START, 0, 0, raw_hook, 0 }
#endif
#ifndef RAW_STRIDE
#define RAW_STRIDE sizeof(agentd_hook)
#endif
#ifndef RAW_TAIL
#define RAW_TAIL 0
#endif
#ifndef RAW_CREATE
#define RAW_CREATE return AGENTD_OK
#endif
#ifndef RAW_HOOK
#define RAW_HOOK return AGENTD_OK
#endif
#ifndef RAW_MANIFEST
#define RAW_MANIFEST "{\"id\":\"" RAW_MANIFEST_ID "\",\"version\":\"1.0.0\",\"abi\":\"1.0\"}"
#endif

#define RAW_TEXT(text) \
  { text, sizeof(text) - 1 }

AGENTD_MANIFEST(RAW_MANIFEST);

__attribute__((unused)) static agentd_status AGENTD_CALL raw_hook(void* self, const agentd_call* call) {
  (void)self;
  (void)call;
  RAW_HOOK;
}

static agentd_status AGENTD_CALL raw_create(const agentd_call* call, void** self) {
  (void)call;
  *self = NULL;
  RAW_CREATE;
}

static const agentd_hook raw_rows[] = {RAW_ROW};

/* Longer than today's record, as a newer header's would be. */
static const struct {
  agentd_plugin known;
  uint64_t tail[2];
} raw_plugin = {{(uint32_t)RAW_SIZE,
                 RAW_CONCURRENCY,
                 RAW_TEXT(RAW_ID),
                 RAW_TEXT("1.0.0"),
                 raw_create,
                 NULL,
                 NULL,
                 NULL,
                 {raw_rows, sizeof(raw_rows) / sizeof(raw_rows[0]), RAW_STRIDE}},
                {0, RAW_TAIL}};

#ifndef RAW_NO_ENTRY
AGENTD_EXPORT agentd_status AGENTD_CALL agentd_hook_entry_v1(agentd_negotiate* io) {
  io->magic = RAW_MAGIC;
  io->abi = RAW_ABI;
#ifdef RAW_DECLINE
  io->error.ptr = RAW_DECLINE;
  io->error.len = sizeof(RAW_DECLINE) - 1;
  return AGENTD_E_UNSUPPORTED;
#else
  io->plugin = &raw_plugin.known;
  return AGENTD_OK;
#endif
}
#else
AGENTD_EXPORT const void* raw_unused(void);
AGENTD_EXPORT const void* raw_unused(void) { return &raw_plugin; }
#endif
