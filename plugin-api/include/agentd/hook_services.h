/* SPDX-License-Identifier: Apache-2.0 */
/* hook_services.h - the host's services for a hook: compactor, thread factory, store.
 *
 * Every function takes its own table and a token; results live until that token ends. No service fires an event on the
 * caller's stack. A service that the manifest did not ask for, or that the user did not grant, is a NULL pointer. A
 * retired slot returns AGENTD_E_UNSUPPORTED; no slot is ever NULL.
 */
#ifndef AGENTD_HOOK_SERVICES_H
#define AGENTD_HOOK_SERVICES_H
#include "hook_actions.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- compactor */

typedef struct agentd_compact_options {
  uint32_t size;
  uint32_t strategy;           /* AGENTD_STRATEGY_                                  */
  uint64_t keep_tokens;        /* 0 = the strategy's own                            */
  uint32_t max_summary_tokens; /* 0 = 4096                                          */
  uint32_t flags;
  agentd_str model;        /* empty = the configured summary model              */
  agentd_str instructions; /* appended to the prompt                            */
} agentd_compact_options;

/* The source of a compaction: a conversation's view, a range of it, or the hook's own messages. */
typedef struct agentd_compact_source {
  uint32_t size;
  uint32_t reserved0;
  agentd_conv conversation; /* 0 = `messages` alone                                 */
  uint64_t first, last;     /* log sequences, inclusive; 0, 0 = the whole view      */
  agentd_list messages;     /* agentd_message                                       */
} agentd_compact_source;

typedef struct agentd_compact_result {
  uint32_t size;
  uint16_t outcome; /* AGENTD_RESULT_ */
  uint16_t method;  /* AGENTD_METHOD_ */
  agentd_str summary;
  uint64_t pre_tokens, post_tokens;
  uint64_t kept_first, kept_last; /* log sequences kept verbatim; 0 = none          */
  uint64_t base_revision;         /* for agentd_act_replace                         */
  const agentd_usage* usage;      /* what it cost                                   */
} agentd_compact_result;

typedef struct agentd_compactor {
  uint32_t size, reserved0;
  /* Counts a text's tokens for `model` (empty = the call's). [any] */
  agentd_status(AGENTD_CALL* count_text)(const struct agentd_compactor*, agentd_token, agentd_str model,
                                         agentd_str text, uint64_t* out) AGENTD_NOEXCEPT;
  /* Counts the tokens of agentd_message records, including each message's overhead. [any] */
  agentd_status(AGENTD_CALL* count_messages)(const struct agentd_compactor*, agentd_token, agentd_str model,
                                             agentd_list messages, uint64_t* out) AGENTD_NOEXCEPT;
  /* Returns the prompt that compact() would send: the `compact` recipe and the instructions. [any] */
  agentd_status(AGENTD_CALL* prompt)(const struct agentd_compactor*, agentd_token, const agentd_compact_options*,
                                     agentd_str* out) AGENTD_NOEXCEPT;
  /* Plans and summarises, but applies, records and fires nothing. Blocks on the model. AGENTD_E_BUSY inside
   * before_compaction; AGENTD_E_IO if the model failed. [any] */
  agentd_status(AGENTD_CALL* compact)(const struct agentd_compactor*, agentd_token, const agentd_compact_source*,
                                      const agentd_compact_options*, const agentd_compact_result** out) AGENTD_NOEXCEPT;
  /* Queues a compaction of a conversation; it runs after the current turn, or immediately if the conversation is idle.
   * [any] */
  agentd_status(AGENTD_CALL* request)(const struct agentd_compactor*, agentd_token, agentd_str conversation_id,
                                      const agentd_compact_options*) AGENTD_NOEXCEPT;
} agentd_compactor;

/* Each table of services has a list of its functions, one row each:
 *   X(table, function, Name, in, out, optional, needs)
 *     Name      the function's name, unique among all tables
 *     in, out   elements of the agentd_list that it takes, and of the one that it returns: agentd_X; none = no list
 *     optional  1: its last result may be NULL and is then not returned
 *     needs     the arguments that must not be NULL, in words for the error; "" = an error without text
 * To add a function, add its slot at the end of the table, and its row: its messages to and from a worker, the worker's
 * stub, the host's service dispatch, the C++ SDK and the tests' fakes follow. A row without a slot, or a slot without a
 * row, does not compile there. */
/* clang-format off */
#define AGENTD_COMPACTOR_FUNCTIONS(X)                                                              \
  X(compactor, count_text, CountText, none, none, 0, "")                                           \
  X(compactor, count_messages, CountMessages, message, none, 0, "")                                \
  X(compactor, prompt, Prompt, none, none, 0, "")                                                  \
  X(compactor, compact, Compact, none, none, 0, "")                                                \
  X(compactor, request, Request, none, none, 0, "")
/* clang-format on */

/* ---- thread factory: a thread is a conversation with a model, not an OS thread */

typedef struct agentd_thread_options {
  uint32_t size;
  uint32_t max_tokens; /* of each answer; 0 = 4096                                */
  agentd_str model;    /* empty = the conversation's                              */
  agentd_str system;
  agentd_list history;    /* agentd_message, copied                                  */
  agentd_conv charge_to;  /* whose usage grows; 0 = the call's conversation          */
  uint64_t budget_tokens; /* input and output together; 0 = the host's limit         */
} agentd_thread_options;

typedef struct agentd_reply {
  uint32_t size;
  uint32_t stop_reason; /* AGENTD_STOP_ */
  agentd_str text;
  agentd_list blocks; /* agentd_block */
  const agentd_usage* usage;
} agentd_reply;

typedef struct agentd_thread_factory {
  uint32_t size, reserved0;
  /* Opens a utility thread: no tools, no hooks, not saved. Sends nothing yet. [any] */
  agentd_status(AGENTD_CALL* open)(const struct agentd_thread_factory*, agentd_token, const agentd_thread_options*,
                                   agentd_thread* out) AGENTD_NOEXCEPT;
  /* Sends one user message and waits for the complete answer; live->cancel ends the wait. AGENTD_E_TOO_BIG if the
   * budget is spent, AGENTD_E_IO if the provider failed. [any] */
  agentd_status(AGENTD_CALL* send)(const struct agentd_thread_factory*, agentd_token, agentd_thread, agentd_str text,
                                   const agentd_reply** out) AGENTD_NOEXCEPT;
  /* Returns the thread's usage so far. [any] */
  agentd_status(AGENTD_CALL* usage)(const struct agentd_thread_factory*, agentd_token, agentd_thread,
                                    const agentd_usage** out) AGENTD_NOEXCEPT;
  /* Closes it; AGENTD_E_NOT_FOUND if it is closed already. [any] */
  agentd_status(AGENTD_CALL* close)(const struct agentd_thread_factory*, agentd_thread) AGENTD_NOEXCEPT;
} agentd_thread_factory;

/* clang-format off */
#define AGENTD_THREAD_FACTORY_FUNCTIONS(X)                                                         \
  X(thread_factory, open, ThreadOpen, none, none, 0, "")                                           \
  X(thread_factory, send, ThreadSend, none, none, 0, "")                                           \
  X(thread_factory, usage, ThreadUsage, none, none, 0, "")                                         \
  X(thread_factory, close, ThreadClose, none, none, 0, "")
/* clang-format on */

/* ---- store */

typedef struct agentd_kv {
  uint32_t size, reserved0;
  agentd_str key, value;
  uint64_t version; /* grows with every change of the key; never 0 */
} agentd_kv;

#define AGENTD_KV_PUT 1u
#define AGENTD_KV_ERASE 2u
#define AGENTD_KV_CHECK 3u       /* changes nothing; the version must be `expect` */
#define AGENTD_KV_ABSENT 0u      /* expect: the key must not exist                */
#define AGENTD_KV_ANY UINT64_MAX /* expect: no condition                          */

typedef struct agentd_kv_op {
  uint32_t size;
  uint32_t kind; /* AGENTD_KV_PUT, ERASE, CHECK */
  agentd_str key, value;
  uint64_t expect; /* a version, AGENTD_KV_ABSENT or AGENTD_KV_ANY */
} agentd_kv_op;

typedef struct agentd_conv_info {
  uint32_t size, flags;
  agentd_str conversation_id, title, project_id, provider, model;
  int64_t created_ms, updated_ms;
  uint64_t revision;
} agentd_conv_info;

typedef struct agentd_conv_query {
  uint32_t size;
  uint32_t limit;             /* 0 = 100                                     */
  agentd_str project_id;      /* empty = all                                 */
  agentd_str text;            /* substring of title or id; empty = all       */
  agentd_str after;           /* the last conversation id of the page before */
  int64_t since_ms, until_ms; /* 0 = open                               */
} agentd_conv_query;

#define AGENTD_SCOPE_VIEW 1u /* what the next request would see */
#define AGENTD_SCOPE_LOG 2u  /* every message ever recorded     */

typedef struct agentd_store {
  uint32_t size, reserved0;
  /* Gets one key of this plugin's own key space. AGENTD_E_NOT_FOUND. [any] */
  agentd_status(AGENTD_CALL* get)(const struct agentd_store*, agentd_token, agentd_str key, const agentd_kv** out)
      AGENTD_NOEXCEPT;
  /* Lists agentd_kv with the prefix, after `after`, in byte order, from one snapshot; limit 0 = 100. [any] */
  agentd_status(AGENTD_CALL* scan)(const struct agentd_store*, agentd_token, agentd_str prefix, agentd_str after,
                                   uint32_t limit, agentd_list* out) AGENTD_NOEXCEPT;
  /* Commits agentd_kv_op: all or none, durable when it returns OK. AGENTD_E_CONFLICT changes nothing. [any] */
  agentd_status(AGENTD_CALL* commit)(const struct agentd_store*, agentd_token, agentd_list ops, uint64_t* version)
      AGENTD_NOEXCEPT;
  /* Lists agentd_conv_info, newest first. [any] */
  agentd_status(AGENTD_CALL* conversations)(const struct agentd_store*, agentd_token, const agentd_conv_query*,
                                            agentd_list* out) AGENTD_NOEXCEPT;
  /* Lists agentd_message: the view or the log at revision `at` (0 = head), from sequence `from`. [any] */
  agentd_status(AGENTD_CALL* messages)(const struct agentd_store*, agentd_token, agentd_str conversation_id,
                                       uint32_t scope, uint64_t at, uint64_t from, uint32_t limit, agentd_list* out)
      AGENTD_NOEXCEPT;
  /* Reads bytes of an elided text. [any] */
  agentd_status(AGENTD_CALL* read_blob)(const struct agentd_store*, agentd_token, agentd_str blob, uint64_t offset,
                                        uint64_t limit, agentd_str* out) AGENTD_NOEXCEPT;
  /* Lists agentd_conv_info that changed after `cursor` (0 = from the start). [any] */
  agentd_status(AGENTD_CALL* changes)(const struct agentd_store*, agentd_token, uint64_t cursor, uint32_t limit,
                                      agentd_list* out, uint64_t* next) AGENTD_NOEXCEPT;
} agentd_store;

/* clang-format off */
#define AGENTD_STORE_FUNCTIONS(X)                                                                  \
  X(store, get, StoreGet, none, none, 0, "")                                                       \
  X(store, scan, StoreScan, none, kv, 0, "")                                                       \
  X(store, commit, StoreCommit, kv_op, none, 1, "")                                                \
  X(store, conversations, StoreConversations, none, conv_info, 0, "")                              \
  X(store, messages, StoreMessages, none, message, 0, "")                                          \
  X(store, read_blob, StoreReadBlob, none, none, 0, "")                                            \
  X(store, changes, StoreChanges, none, conv_info, 0, "")
/* clang-format on */

/* NULL = not asked for, or not granted. */
typedef struct agentd_services {
  uint32_t size, reserved0;
  const agentd_compactor* compactor;
  const agentd_thread_factory* threads;
  const agentd_store* store;
} agentd_services;

/* The addresses in the records; hook_events.h explains the rows. */
/* clang-format off */
#define AGENTD_SERVICE_RECORDS(X)                                                                  \
  X(compact_options, AGENTD_TEXT(model), AGENTD_TEXT(instructions))                                \
  X(compact_source, AGENTD_LIST(messages, message))                                                \
  X(compact_result, AGENTD_TEXT(summary), AGENTD_POINTER(usage, usage))                            \
  X(thread_options, AGENTD_TEXT(model), AGENTD_TEXT(system), AGENTD_LIST(history, message))        \
  X(reply, AGENTD_TEXT(text), AGENTD_LIST(blocks, block), AGENTD_POINTER(usage, usage))            \
  X(kv, AGENTD_TEXT(key), AGENTD_TEXT(value))                                                      \
  X(kv_op, AGENTD_TEXT(key), AGENTD_TEXT(value))                                                   \
  X(conv_info, AGENTD_TEXT(conversation_id), AGENTD_TEXT(title), AGENTD_TEXT(project_id),          \
    AGENTD_TEXT(provider), AGENTD_TEXT(model))                                                     \
  X(conv_query, AGENTD_TEXT(project_id), AGENTD_TEXT(text), AGENTD_TEXT(after))
/* clang-format on */

AGENTD_LAYOUT(agentd_compact_options, 56);
AGENTD_LAYOUT(agentd_compact_source, 48);
AGENTD_LAYOUT(agentd_compact_result, 72);
AGENTD_LAYOUT(agentd_compactor, 48);
AGENTD_LAYOUT(agentd_thread_options, 72);
AGENTD_LAYOUT(agentd_reply, 48);
AGENTD_LAYOUT(agentd_thread_factory, 40);
AGENTD_LAYOUT(agentd_kv, 48);
AGENTD_LAYOUT(agentd_kv_op, 48);
AGENTD_LAYOUT(agentd_conv_info, 112);
AGENTD_LAYOUT(agentd_conv_query, 72);
AGENTD_LAYOUT(agentd_store, 64);
AGENTD_LAYOUT(agentd_services, 32);

#ifdef __cplusplus
}
#endif
#endif
