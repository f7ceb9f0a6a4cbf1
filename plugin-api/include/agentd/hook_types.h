/* SPDX-License-Identifier: Apache-2.0 */
/* hook_types.h - the vocabulary of the hook ABI: text, lists, status codes, tokens.
 *
 * C11 and C++11 to 23, freestanding headers only. Rules that hold in every header beside this one:
 *   L1  no bool, long, enum-typed member, bit-field, varargs, FILE*, errno or locale crosses the border.
 *   L2  what the host gives is borrowed until the call returns (until complete() if it is pending); what
 *       a hook gives is borrowed until that host function returns, the host copies; nobody frees the
 *       other side's memory.
 *   L3  a growable record begins with `uint32_t size` (bytes, including itself), grows at its end, and
 *       zero means "as before". The host allocates every record that it fills; lists carry a stride.
 *       Records marked FROZEN never change.
 *   L9  every function pointer ends its comment with the thread it is called on: [init] the thread that
 *       loads the plugin, [call] the thread of the running call, [any] any thread, [task] a thread that
 *       ext/tasks.h started, [host] the host only.
 */
#ifndef AGENTD_HOOK_TYPES_H
#define AGENTD_HOOK_TYPES_H
#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define AGENTD_CALL __cdecl
#define AGENTD_EXPORT __declspec(dllexport)
#else
#define AGENTD_CALL
#if defined(__GNUC__)
#define AGENTD_EXPORT __attribute__((visibility("default")))
#else
#define AGENTD_EXPORT
#endif
#endif

/* `noexcept` became part of the type in C++17; before that a typedef must not have it. */
#if defined(__cplusplus) && __cplusplus >= 201703L
#define AGENTD_NOEXCEPT noexcept
#else
#define AGENTD_NOEXCEPT
#endif

#if defined(__cplusplus)
#define AGENTD_STATIC_ASSERT(condition, text) static_assert(condition, text)
#else
#define AGENTD_STATIC_ASSERT(condition, text) _Static_assert(condition, text)
#endif
/* A layout lock: the size of a released record on LP64 and LLP64. */
#define AGENTD_LAYOUT(type, bytes) AGENTD_STATIC_ASSERT(sizeof(type) == (bytes), #type " changed its size")

#ifdef __cplusplus
extern "C" {
#endif

/* The version of these headers: major << 16 | minor. Minor 1 adds AGENTD_ACT_STOP_RUN and AGENTD_TOOL_CALL_DENIED, and
 * lets tool calls of one answer overlap that only read: several before_tool_call, then several after_tool_call. */
#define AGENTD_ABI_MAJOR 1u
#define AGENTD_ABI_MINOR 1u
#define AGENTD_ABI_NEWEST ((AGENTD_ABI_MAJOR << 16) | AGENTD_ABI_MINOR)
/* The oldest minor that a module can work with. The module states it in agentd_negotiate.abi and in its manifest, loads
 * in every agentd 1.y with y >= that, and gets nothing that agentd 1.y of that minor would not have sent. It may still
 * use newer features where core->host_minor shows that they exist. Define it before the first header to require more.
 */
#ifndef AGENTD_TARGET_MINOR
#define AGENTD_TARGET_MINOR 0u
#endif
#define AGENTD_ABI ((AGENTD_ABI_MAJOR << 16) | AGENTD_TARGET_MINOR)
/* The value of agentd_negotiate.magic, written by the plugin: "AGHK". */
#define AGENTD_MAGIC 0x4B484741u

/* 0 = OK, 1 = PENDING, negative = an error. Values never change. */
typedef int32_t agentd_status;
#define AGENTD_OK 0               /* done; without an emit() the hook has no answer                         */
#define AGENTD_PENDING 1          /* not done yet: complete(token) will follow, from any thread             */
#define AGENTD_E_ARG (-1)         /* an argument breaks its contract                                        */
#define AGENTD_E_NOMEM (-2)       /* no memory                                                              */
#define AGENTD_E_UNSUPPORTED (-3) /* this host, or this event, cannot do that                               */
#define AGENTD_E_CANCELLED (-4)   /* the host or the user gave up; see agentd_live.cancel                   */
#define AGENTD_E_DEADLINE (-5)    /* agentd_live.deadline_ns has passed                                     */
#define AGENTD_E_NOT_FOUND (-6)   /* no such conversation, key, blob, thread; a stale token                 */
#define AGENTD_E_BUSY (-7)        /* held by another; try later                                             */
#define AGENTD_E_CONFLICT (-8)    /* the revision or version expected is no longer the current one          */
#define AGENTD_E_TOO_BIG (-9)     /* over a limit, or a record newer than this side                         */
#define AGENTD_E_THREAD (-10)     /* called on a thread that the contract forbids                           */
#define AGENTD_E_INTERNAL (-11)   /* a bug on the side that answers                                         */
#define AGENTD_E_DENIED (-12)     /* not granted by the user, or refused by a rule                          */
#define AGENTD_E_IO (-13)         /* disk, network or provider failed                                       */

/* UTF-8 text or bytes, not NUL-terminated. ptr NULL = absent, len 0 = empty. FROZEN, 16 bytes. */
typedef struct agentd_str {
  const char* ptr;
  size_t len; /* bytes */
} agentd_str;

/* `count` records, `stride` bytes apart: step by stride, never by sizeof. FROZEN, 16 bytes. */
typedef struct agentd_list {
  const void* first;
  uint32_t count;
  uint32_t stride; /* bytes */
} agentd_list;

/* A call, a pending call or a scope. It owns an arena, a deadline, a cancel word and a budget. Opaque:
 * 40 bits of generation, 24 of index; a stale token is harmless. 0 = none. */
typedef uint64_t agentd_token;
/* This process's handle of a conversation, not its id. 0 = none. */
typedef uint64_t agentd_conv;
/* A thread: a conversation with a model, owned by the plugin instance (generation << 32 | index). */
typedef uint64_t agentd_thread;

/* The words that change while a call runs. The host stores atomically; read with acquire loads. FROZEN. */
typedef struct agentd_live {
  uint32_t cancel; /* 0 = go on; otherwise an AGENTD_CANCEL_ reason: return soon                    */
  uint32_t reserved0;
  uint64_t deadline_ns; /* absolute, on the clock of core->now_ns(); moved on by the time that one of
                           the host's own services took; UINT64_MAX = none                                */
} agentd_live;
#define AGENTD_CANCEL_USER 1u     /* the user interrupted          */
#define AGENTD_CANCEL_DEADLINE 2u /* the deadline passed           */
#define AGENTD_CANCEL_SHUTDOWN 3u /* the host is going down        */

AGENTD_LAYOUT(agentd_str, 16);
AGENTD_LAYOUT(agentd_list, 16);
AGENTD_LAYOUT(agentd_live, 16);

#ifdef __cplusplus
}
#endif
#endif
