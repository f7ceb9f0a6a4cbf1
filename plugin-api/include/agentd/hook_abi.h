/* SPDX-License-Identifier: Apache-2.0 */
/* hook_abi.h - the contract between agentd and a RuntimeHook module: include this one.
 *
 * A module is a shared library that exports one function, agentd_hook_entry_v1, and needs no symbol of the host. The
 * host gets an agentd_plugin from it, calls create() once per instance, and then the `fn` of each row whose event
 * occurs. The smallest module is template/hello.c; in C++ include <agentd/hook.hpp>.
 */
#ifndef AGENTD_HOOK_ABI_H
#define AGENTD_HOOK_ABI_H
#include "hook_services.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- a call. One shape for hooks, create, destroy, save_state, load_state and tools. */

struct agentd_core;

typedef struct agentd_call {
  uint32_t size;
  uint32_t event; /* AGENTD_EVENT_                                                             */
  agentd_token token;
  agentd_conv conversation;
  const agentd_live* live;
  const struct agentd_core* core;  /* one per plugin instance: the pointer is the identity */
  const agentd_services* services; /* its tables live as long as the instance              */
  const agentd_envelope* envelope; /* NULL in control calls                                */
  const void* payload;             /* the event's record                                   */
} agentd_call;

/* Returns OK, PENDING or an error; core->fail() is called first with an error's text. */
typedef agentd_status(AGENTD_CALL* agentd_fn)(void* self, const agentd_call*) AGENTD_NOEXCEPT;

/* ---- a plugin */

#define AGENTD_HOOK_OPTIONAL 1u  /* a host that does not know the event may skip the row           */
#define AGENTD_HOOK_OBSERVES 2u  /* runs after the others; its actions are ignored                 */
#define AGENTD_HOOK_GATES 4u     /* a guard: fails closed unless the user's config says otherwise  */
#define AGENTD_HOOK_REDACTS 8u   /* rewrites what must not be seen: fails closed in the same way   */
#define AGENTD_WANTS_MESSAGES 1u /* agentd_hook.wants: the history; without it the lists are empty */

/* One subscription. FROZEN, 24 bytes. */
typedef struct agentd_hook {
  uint32_t event;   /* AGENTD_EVENT_, or an id from core->event_id() */
  uint16_t flags;   /* AGENTD_HOOK_                                  */
  int16_t priority; /* higher runs earlier; 0 is ordinary            */
  agentd_fn fn;     /* [call]                                        */
  uint64_t wants;   /* AGENTD_WANTS_                                 */
} agentd_hook;

#define AGENTD_SERIAL 0u           /* one call at a time per instance                  */
#define AGENTD_PER_CONVERSATION 1u /* one `self`, calls serialised per conversation    */
#define AGENTD_CONCURRENT 2u       /* any number of calls at once                      */

typedef struct agentd_plugin {
  uint32_t size;
  uint32_t concurrency; /* AGENTD_SERIAL, PER_CONVERSATION, CONCURRENT */
  agentd_str id;        /* reversed domain: org.example.hello          */
  agentd_str version;   /* semantic version                            */
  /* Makes an instance; event CREATE, payload agentd_create_info. After a refusal by create() nothing is destroyed.
   * [init] */
  agentd_status(AGENTD_CALL* create)(const agentd_call*, void** self) AGENTD_NOEXCEPT;
  agentd_fn destroy;    /* NULL = nothing to do. [init] */
  agentd_fn save_state; /* NULL = stateless; answers with emit(STATE). [init] */
  agentd_fn load_state; /* NULL = stateless; payload agentd_create_info. [init] */
  agentd_list hooks;    /* agentd_hook */
} agentd_plugin;

#define AGENTD_ISOLATION_IN_PROCESS 1u
#define AGENTD_ISOLATION_PROCESS 2u
#define AGENTD_ISOLATION_PROCESS_PER_CONVERSATION 3u

typedef struct agentd_create_info {
  uint32_t size;
  uint32_t isolation;                 /* AGENTD_ISOLATION_                               */
  agentd_str config_json;             /* the user's hooks.NAME.config as one JSON object */
  agentd_str state, previous_version; /* after a reload; otherwise absent                */
} agentd_create_info;

/* ---- the host's functions, available in every call */

typedef struct agentd_core {
  uint32_t size;
  uint32_t host_minor;
  /* Sets the text of the error that the call is about to return. FROZEN slot. [any] */
  void(AGENTD_CALL* fail)(const struct agentd_core*, agentd_token, agentd_status, agentd_str what) AGENTD_NOEXCEPT;
  /* Writes one line to the log; level AGENTD_LEVEL_. FROZEN slot. [any] */
  void(AGENTD_CALL* log)(const struct agentd_core*, agentd_token, int32_t level, agentd_str) AGENTD_NOEXCEPT;
  /* clang-format off */
  /* Returns the interface `id` if its table has at least min_size bytes, else NULL, an ordinary answer. FROZEN slot.
   * [init] */
  const void*(AGENTD_CALL* query)(const struct agentd_core*, agentd_str id, uint32_t min_size) AGENTD_NOEXCEPT;
  /* clang-format on */
  /* Returns the id of an event by name; 0 = unknown. FROZEN slot. [init] */
  uint32_t(AGENTD_CALL* event_id)(const struct agentd_core*, agentd_str name) AGENTD_NOEXCEPT;
  /* Emits an action, which is copied before return; may block on back-pressure. AGENTD_E_UNSUPPORTED if the event does
   * not allow it, AGENTD_E_NOT_FOUND if the token has ended. [any] */
  agentd_status(AGENTD_CALL* emit)(const struct agentd_core*, agentd_token, const agentd_action*) AGENTD_NOEXCEPT;
  /* clang-format off */
  /* Scratch memory that lives as long as the token; NULL = out of memory. `align`: a power of two. [any] */
  void*(AGENTD_CALL* arena)(const struct agentd_core*, agentd_token, size_t bytes, size_t align) AGENTD_NOEXCEPT;
  /* clang-format on */
  /* Ends a pending call, once; AGENTD_E_NOT_FOUND for a stale token. [any] */
  agentd_status(AGENTD_CALL* complete)(const struct agentd_core*, agentd_token, agentd_status) AGENTD_NOEXCEPT;
  /* Opens a token outside of calls, for the plugin's own threads and timers. [any] */
  agentd_status(AGENTD_CALL* scope_open)(const struct agentd_core*, agentd_conv, uint64_t deadline_ns,
                                         agentd_token* out, const agentd_live** live) AGENTD_NOEXCEPT;
  /* Ends a scope; a stale token is ignored. [any] */
  void(AGENTD_CALL* scope_close)(const struct agentd_core*, agentd_token) AGENTD_NOEXCEPT;
  /* The clock of deadline_ns: monotonic, nanoseconds; simulated in tests. [any] */
  uint64_t(AGENTD_CALL* now_ns)(const struct agentd_core*) AGENTD_NOEXCEPT;
} agentd_core;

/* ---- entry */

#define AGENTD_NEGOTIATE_SCAN_ONLY 1u /* flags: a scanner calls; create() will not follow */
#define AGENTD_NEGOTIATE_WORKER 2u    /* flags: a worker process calls                    */

/* FROZEN. The host allocates and fills it; the plugin fills the second half. */
typedef struct agentd_negotiate {
  uint32_t size;
  uint32_t flags;                      /* AGENTD_NEGOTIATE_                                 */
  uint32_t host_abi_min, host_abi_max; /* major << 16 | minor                               */
  uint32_t magic;                      /* out: AGENTD_MAGIC                                 */
  uint32_t abi;                        /* out: AGENTD_ABI, the least that the module needs  */
  const agentd_plugin* plugin;         /* out: static storage                               */
  agentd_str error;                    /* out: why it declines, with a status other than OK */
} agentd_negotiate;

/* The one symbol that a module exports. Pure: no allocation, thread or I/O; a scanner may call it. [init] */
typedef agentd_status(AGENTD_CALL* agentd_entry)(agentd_negotiate* io) AGENTD_NOEXCEPT;
#define AGENTD_ENTRY_SYMBOL "agentd_hook_entry_v1"
AGENTD_EXPORT agentd_status AGENTD_CALL agentd_hook_entry_v1(agentd_negotiate* io) AGENTD_NOEXCEPT;

/* ---- manifest: JSON that `agentd --plugins` reads without running a byte of the module.
 *
 * AGENTD_MANIFEST("{\"id\":\"org.example.hello\",...}") puts it into an ELF note (owner "agentd", type 1)
 * or the PE section .agentd; linkers that keep neither use the sidecar NAME.hook.json. Keys: id, version,
 * abi "1.0", events [names], requires and wants [ids of services and interfaces], drafts [ids],
 * concurrency, capabilities, config_schema, license, isolation. */
#define AGENTD_NOTE_OWNER "agentd"
#define AGENTD_NOTE_TYPE 1u
#if defined(_WIN32)
#define AGENTD_MANIFEST(json) __attribute__((section(".agentd"), used)) static const char agentd_manifest_text[] = json
#elif defined(__GNUC__)
#define AGENTD_MANIFEST(json)                                                      \
  __attribute__((section(".note.agentd"), used, aligned(4))) static const struct { \
    uint32_t name_bytes, text_bytes, type;                                         \
    char name[8];                                                                  \
    char text[(sizeof(json) + 3u) & ~(size_t)3u];                                  \
  } agentd_manifest_note = {7u, (uint32_t)sizeof(json), AGENTD_NOTE_TYPE, AGENTD_NOTE_OWNER, json}
#else
/* This compiler makes no note: ship NAME.hook.json next to the module. */
#define AGENTD_MANIFEST(json) typedef char agentd_manifest_text[sizeof(json)]
#endif

/* The addresses in the records; hook_events.h explains the rows. */
/* clang-format off */
#define AGENTD_CONTROL_RECORDS(X)                                                                  \
  X(create_info, AGENTD_TEXT(config_json), AGENTD_TEXT(state), AGENTD_TEXT(previous_version))
/* clang-format on */

AGENTD_LAYOUT(agentd_call, 64);
AGENTD_LAYOUT(agentd_hook, 24);
AGENTD_LAYOUT(agentd_plugin, 88);
AGENTD_LAYOUT(agentd_create_info, 56);
AGENTD_LAYOUT(agentd_core, 88);
AGENTD_LAYOUT(agentd_negotiate, 48);

#ifdef __cplusplus
}
#endif
#endif
