/* SPDX-License-Identifier: Apache-2.0 */
/* hook_events.h - the events of a run, and their payloads.
 *
 * Every event has a permanent id, a name, and one payload record. All text is borrowed until the call returns.
 * Enumerations from the host are open: ignore an unknown value.
 */
#ifndef AGENTD_HOOK_EVENTS_H
#define AGENTD_HOOK_EVENTS_H
#include "hook_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The list of events, one row each:
 *   ROW(X, NAME, name, id, payload type, blocking, continues, actions, text, fires, carries)
 *     blocking   1: BLOCK stops the announced action; such an event allows STOP_RUN too
 *     continues  1: CONTINUE adds a user message and the run continues
 *     actions    the allowed actions: a set of AGENTD_MAY(BLOCK), ...; needs hook_actions.h
 *     text       the text that AGENTD_TEXT_DEFAULT rewrites: an AGENTD_TEXT_ of hook_actions.h; 0 = none
 *     fires      when it fires, shown to users
 *     carries    the payload's contents, shown to users
 * Ids 1 to 63 are the core's, in rising order; third parties start at 0x10000. To add an event is to
 * add a row: the enumeration below, the C++ SDK, the JSON, the contract and the reference page
 * follow. Use it as AGENTD_EVENT_LIST(X) or AGENTD_EVENT_TABLE(X). */
/* clang-format off */
#define AGENTD_EVENT_ROWS(ROW, X)                                                                  \
  ROW(X, SESSION_START, session_start, 1, agentd_session_start, 0, 0,                              \
      AGENTD_MAY(INJECT_CONTEXT) | AGENTD_MAY(SYSTEM_MESSAGE) | AGENTD_MAY(SET), 0,                \
      "a session begins: it is new, resumed or forked, or a clear or a compaction gave it a "      \
      "new history",                                                                               \
      "source, checkpoint offer, primed memories")                                                 \
  ROW(X, SESSION_END, session_end, 2, agentd_session_end, 0, 0,                                    \
      0, 0,                                                                                        \
      "a session ends; its hooks have 1.5 s in all",                                               \
      "reason, outcome, task, approach, tags, notes")                                              \
  ROW(X, USER_MESSAGE_SEND, user_message_send, 3, agentd_user_message, 1, 0,                       \
      AGENTD_MAY(BLOCK) | AGENTD_MAY(REPLACE_TEXT) | AGENTD_MAY(INJECT_CONTEXT) |                  \
          AGENTD_MAY(SYSTEM_MESSAGE) | AGENTD_MAY(STOP_RUN), AGENTD_TEXT_MESSAGE,                  \
      "a message is about to enter the conversation as the user's",                                \
      "message, source")                                                                           \
  ROW(X, TURN_START, turn_start, 4, agentd_turn, 0, 0,                                             \
      0, 0,                                                                                        \
      "a turn begins: one request to the model, and the tool calls that it asks for",              \
      "turn_number")                                                                               \
  ROW(X, BEFORE_MODEL_CALL, before_model_call, 5, agentd_model_call, 1, 0,                         \
      AGENTD_MAY(BLOCK) | AGENTD_MAY(REPLACE_MESSAGES) | AGENTD_MAY(INJECT_CONTEXT) |              \
          AGENTD_MAY(SYSTEM_MESSAGE) |                                                             \
          AGENTD_MAY(STOP_RUN) | AGENTD_MAY(SET) | AGENTD_MAY(TOOLS_ENABLE) |                      \
          AGENTD_MAY(TOOLS_DISABLE), 0,                                                            \
      "a request to the model is about to be sent",                                                \
      "model, counts, budget; messages by view")                                                   \
  ROW(X, MODEL_DELTA, model_delta, 6, agentd_model_delta, 0, 0,                                    \
      0, 0,                                                                                        \
      "text of the answer has arrived; several pieces at a time; not fired where a hook may "      \
      "rewrite the answer",                                                                        \
      "batch of text deltas")                                                                      \
  ROW(X, AFTER_MODEL_CALL, after_model_call, 7, agentd_model_response, 0, 0,                       \
      AGENTD_MAY(REPLACE_TEXT) | AGENTD_MAY(SYSTEM_MESSAGE) |                                      \
          AGENTD_MAY(STOP_RUN), AGENTD_TEXT_RESPONSE,                                              \
      "the model has answered; an answer that a hook may rewrite is shown after all hooks",        \
      "response, usage, stop_reason")                                                              \
  ROW(X, TURN_END, turn_end, 8, agentd_turn, 0, 0,                                                 \
      AGENTD_MAY(INJECT_CONTEXT) | AGENTD_MAY(SYSTEM_MESSAGE) | AGENTD_MAY(STOP_RUN), 0,           \
      "the model has answered and its answer is recorded; tool calls follow unless `final` is "    \
      "true",                                                                                      \
      "response, turn_number, final, tool_calls, usage")                                           \
  ROW(X, BEFORE_TOOL_CALL, before_tool_call, 9, agentd_tool_call, 1, 0,                            \
      AGENTD_MAY(BLOCK) | AGENTD_MAY(REPLACE_TEXT) | AGENTD_MAY(PERMISSION) |                      \
          AGENTD_MAY(INJECT_CONTEXT) | AGENTD_MAY(SYSTEM_MESSAGE) |                                \
          AGENTD_MAY(STOP_RUN), AGENTD_TEXT_TOOL_INPUT,                                            \
      "a tool is about to run; gates run once more if the input changed after they saw it",        \
      "tool{name, call_id, input}")                                                                \
  ROW(X, PERMISSION_REQUEST, permission_request, 10, agentd_tool_call, 1, 0,                       \
      AGENTD_MAY(BLOCK) | AGENTD_MAY(PERMISSION) | AGENTD_MAY(SYSTEM_MESSAGE) |                    \
          AGENTD_MAY(STOP_RUN), 0,                                                                 \
      "the user is about to be asked whether a tool may run",                                      \
      "tool, suggestions")                                                                         \
  ROW(X, AFTER_TOOL_CALL, after_tool_call, 11, agentd_tool_call, 0, 0,                             \
      AGENTD_MAY(REPLACE_TEXT) | AGENTD_MAY(INJECT_CONTEXT) |                                      \
          AGENTD_MAY(SYSTEM_MESSAGE) | AGENTD_MAY(STOP_RUN), AGENTD_TEXT_TOOL_OUTPUT,              \
      "a tool has succeeded; the model, the log and the screen get the output that the hooks "     \
      "leave",                                                                                     \
      "tool, output{content, success, error}, duration")                                           \
  ROW(X, TOOL_CALL_FAILED, tool_call_failed, 12, agentd_tool_call, 0, 0,                           \
      AGENTD_MAY(REPLACE_TEXT) | AGENTD_MAY(INJECT_CONTEXT) |                                      \
          AGENTD_MAY(SYSTEM_MESSAGE) | AGENTD_MAY(STOP_RUN), AGENTD_TEXT_TOOL_OUTPUT,              \
      "a tool has failed; otherwise as after_tool_call; observers also receive refused calls "     \
      "(denied)",                                                                                  \
      "tool, output{content, success, error}, duration")                                           \
  ROW(X, AGENT_STOP, agent_stop, 13, agentd_agent_stop, 0, 1,                                      \
      AGENTD_MAY(CONTINUE) | AGENTD_MAY(COMPACT) | AGENTD_MAY(SUMMARY) |                           \
          AGENTD_MAY(REPLACE_MESSAGES) | AGENTD_MAY(CALLBACK) | AGENTD_MAY(INJECT_CONTEXT) |       \
          AGENTD_MAY(SYSTEM_MESSAGE) | AGENTD_MAY(STOP_RUN) | AGENTD_MAY(SET), 0,                  \
      "the agent has nothing more to do; a hook may make it continue, at most 8 times in a row",   \
      "usage, gauge, messages, continuation, stop_hook_active")                                    \
  ROW(X, CONTEXT_THRESHOLD, context_threshold, 14, agentd_context_threshold, 0, 0,                 \
      AGENTD_MAY(COMPACT) | AGENTD_MAY(INJECT_CONTEXT) | AGENTD_MAY(SYSTEM_MESSAGE) |              \
          AGENTD_MAY(STOP_RUN), 0,                                                                 \
      "the context has exceeded the threshold; once per upward crossing",                          \
      "percent, threshold, checkpoint_id")                                                         \
  ROW(X, BEFORE_COMPACTION, before_compaction, 15, agentd_before_compaction, 1, 0,                 \
      AGENTD_MAY(BLOCK) | AGENTD_MAY(SUMMARY) | AGENTD_MAY(SET) | AGENTD_MAY(REPLACE_MESSAGES) |   \
          AGENTD_MAY(SYSTEM_MESSAGE) | AGENTD_MAY(STOP_RUN), 0,                                    \
      "the history is about to be compacted",                                                      \
      "trigger, reason, phase, tokens, ranges, strategy, model, custom_instructions")              \
  ROW(X, AFTER_COMPACTION, after_compaction, 16, agentd_after_compaction, 0, 0,                    \
      AGENTD_MAY(INJECT_CONTEXT) | AGENTD_MAY(SYSTEM_MESSAGE), 0,                                  \
      "the history has been compacted",                                                            \
      "the request, result, method, tokens before and after, summary, boundary_id")                \
  ROW(X, BEFORE_CLEAR, before_clear, 17, agentd_clear, 1, 0,                                       \
      AGENTD_MAY(BLOCK) | AGENTD_MAY(SYSTEM_MESSAGE) | AGENTD_MAY(STOP_RUN), 0,                    \
      "the conversation is about to be replaced by an empty one",                                  \
      "reason, checkpoint_id")                                                                     \
  ROW(X, AFTER_CLEAR, after_clear, 18, agentd_clear, 0, 0,                                         \
      AGENTD_MAY(SYSTEM_MESSAGE), 0,                                                               \
      "an empty conversation has replaced the old one",                                            \
      "new conversation id")                                                                       \
  ROW(X, SUBAGENT_START, subagent_start, 19, agentd_subagent, 1, 0,                                \
      AGENTD_MAY(BLOCK) | AGENTD_MAY(INJECT_CONTEXT) | AGENTD_MAY(SYSTEM_MESSAGE) |                \
          AGENTD_MAY(STOP_RUN), 0,                                                                 \
      "a subagent is about to start",                                                              \
      "agent{id, type, depth}, prompt")                                                            \
  ROW(X, SUBAGENT_STOP, subagent_stop, 20, agentd_agent_stop, 0, 1,                                \
      AGENTD_MAY(CONTINUE) | AGENTD_MAY(COMPACT) | AGENTD_MAY(SUMMARY) |                           \
          AGENTD_MAY(REPLACE_MESSAGES) | AGENTD_MAY(CALLBACK) | AGENTD_MAY(INJECT_CONTEXT) |       \
          AGENTD_MAY(SYSTEM_MESSAGE) | AGENTD_MAY(STOP_RUN) | AGENTD_MAY(SET), 0,                  \
      "a subagent has nothing more to do",                                                         \
      "as agent_stop")                                                                             \
  ROW(X, AGENT_ERROR, agent_error, 21, agentd_agent_error, 0, 0,                                   \
      0, 0,                                                                                        \
      "a run has met an error, which the user sees",                                               \
      "code, message, phase, retryable")                                                           \
  ROW(X, NOTIFICATION, notification, 22, agentd_notification, 0, 0,                                \
      0, 0,                                                                                        \
      "the user is notified outside of the conversation",                                          \
      "level, text")                                                                               \
  /* the next event goes here */
/* clang-format on */

/* One action of the column `actions`: AGENTD_MAY(BLOCK). */
#define AGENTD_MAY(ACTION) (1u << AGENTD_ACT_##ACTION)
/* X(NAME, name, id, payload type). */
#define AGENTD_EVENT_LIST(X) AGENTD_EVENT_ROWS(AGENTD_EVENT_SHORT_ROW, X)
#define AGENTD_EVENT_SHORT_ROW(X, NAME, name, id, payload, ...) X(NAME, name, id, payload)
/* X(NAME, name, id, payload type, blocking, continues, actions, text, fires, carries). */
#define AGENTD_EVENT_TABLE(X) AGENTD_EVENT_ROWS(AGENTD_EVENT_WHOLE_ROW, X)
#define AGENTD_EVENT_WHOLE_ROW(X, ...) X(__VA_ARGS__)

#define AGENTD_EVENT_ENUM(NAME, name, id, payload) AGENTD_EVENT_##NAME = (id),
enum {
  AGENTD_EVENT_LIST(AGENTD_EVENT_ENUM)
  /* Control calls: the shape of an event, but never subscribed to. */
  AGENTD_EVENT_CREATE = 0x1000,       /* payload agentd_create_info                            */
  AGENTD_EVENT_DESTROY = 0x1001,      /* payload NULL                                          */
  AGENTD_EVENT_SAVE_STATE = 0x1002,   /* payload NULL; answer with emit(STATE)                 */
  AGENTD_EVENT_LOAD_STATE = 0x1003,   /* payload agentd_create_info, state set                 */
  AGENTD_EVENT_TOOL_INVOKE = 0x1004,  /* payload agentd_tool_call; see ext/tools.h             */
  AGENTD_EVENT_SERVICE_CALL = 0x1005, /* payload agentd_service_call; see ext/draft/provide.h  */
  AGENTD_EVENT_THIRD_PARTY = 0x10000
};
#undef AGENTD_EVENT_ENUM

/* ---- the envelope of every event */

#define AGENTD_GAUGE_ESTIMATE 1u /* agentd_gauge.source: counted by the host                 */
#define AGENTD_GAUGE_PROVIDER 2u /* the provider's report, plus an estimate of later content */

/* The fill of the context window, in tokens. */
typedef struct agentd_gauge {
  uint32_t size;
  uint32_t source;      /* AGENTD_GAUGE_                                                     */
  uint64_t used;        /* what the next request would send                                  */
  uint64_t limit;       /* the model's window less the output reserve; 0 = unknown           */
  uint64_t compact_at;  /* used >= this: automatic compaction                                */
  uint64_t force_at;    /* used >= this: compaction ignores vetoes                           */
  uint64_t floor;       /* what compaction cannot remove: system prompt, tools, instructions */
  uint32_t compactions; /* boundaries so far                                                 */
  uint32_t reserved0;
} agentd_gauge;

/* Tokens and money. */
typedef struct agentd_usage {
  uint32_t size;
  uint32_t reserved0;
  uint64_t input, output, cache_read, cache_write, reasoning; /* tokens               */
  uint64_t cost_nano_usd;                                     /* 10^-9 US dollars     */
} agentd_usage;

#define AGENTD_INVOKED_BY_MAIN 1u
#define AGENTD_INVOKED_BY_SUBAGENT 2u

typedef struct agentd_envelope {
  uint32_t size;
  uint32_t turn_number;       /* 1-based within the run; 0 = outside a turn               */
  agentd_str event_id;        /* unique per dispatch                                      */
  agentd_str conversation_id; /* ULID, 26 characters                                      */
  agentd_str session_id, run_id, turn_id;
  agentd_str cwd; /* absolute path                                            */
  agentd_str project_id;
  agentd_str recipe; /* empty when the run has none                              */
  agentd_str provider, model;
  agentd_str agent_id, agent_type;
  uint32_t agent_depth; /* 0 = the main agent                                       */
  uint32_t invoked_by;  /* AGENTD_INVOKED_BY_                                       */
  uint32_t attempt;     /* 1-based                                                  */
  uint32_t reserved0;
  uint64_t revision; /* the conversation's last log sequence                     */
  const agentd_gauge* context;
} agentd_envelope;

/* ---- messages */

#define AGENTD_BLOCK_TEXT 1        /* text                                                           */
#define AGENTD_BLOCK_THINKING 2    /* text, opaque = the provider's signature                        */
#define AGENTD_BLOCK_TOOL_USE 3    /* name, call_id, json = the input as the model wrote it          */
#define AGENTD_BLOCK_TOOL_RESULT 4 /* call_id, text; parts = further blocks (images)                 */
#define AGENTD_BLOCK_IMAGE 5       /* name = media type, opaque = base64 bytes                       */
#define AGENTD_BLOCK_DOCUMENT 6    /* the same; text = its title. Since 1.1                          */

#define AGENTD_BLOCK_ERROR 1u  /* flags: a TOOL_RESULT that reports a failure                        */
#define AGENTD_BLOCK_ELIDED 2u /* text is a prefix of full_len bytes; read on with store->read_blob  */
#define AGENTD_BLOCK_PRUNED 4u /* text was shortened in the view; the log keeps the original         */

typedef struct agentd_block {
  uint32_t size;
  uint16_t kind;  /* AGENTD_BLOCK_                                                       */
  uint16_t flags; /* AGENTD_BLOCK_ERROR | ELIDED | PRUNED                                */
  agentd_str text, name, call_id, json, opaque;
  agentd_list parts; /* agentd_block                                                     */
  uint64_t full_len; /* bytes of the whole text                                          */
  agentd_str blob;   /* handle for store->read_blob when ELIDED                          */
} agentd_block;

#define AGENTD_ROLE_USER 1
#define AGENTD_ROLE_ASSISTANT 2
#define AGENTD_ROLE_SUMMARY 3 /* a compaction's summary; providers see one user message    */

#define AGENTD_MESSAGE_INTERRUPTED 1u /* flags: the stream ended before its stop reason   */
#define AGENTD_MESSAGE_CONTEXT 2u     /* context that a hook or the runtime added         */

typedef struct agentd_message {
  uint32_t size;
  uint16_t role;      /* AGENTD_ROLE_                                                       */
  uint16_t flags;     /* AGENTD_MESSAGE_                                                    */
  uint64_t seq;       /* log sequence: the identity of the message; 0 = not in the log      */
  int64_t time_ms;    /* since 1970, UTC                                                    */
  uint64_t tokens;    /* estimate                                                           */
  agentd_list blocks; /* agentd_block                                                    */
} agentd_message;

/* ---- payloads */

#define AGENTD_SOURCE_STARTUP 1u
#define AGENTD_SOURCE_RESUME 2u
#define AGENTD_SOURCE_CLEAR 3u
#define AGENTD_SOURCE_COMPACT 4u
#define AGENTD_SOURCE_FORK 5u

/* A checkpoint or a memory that is offered to the session. */
typedef struct agentd_recollection {
  uint32_t size;
  uint32_t confidence_permille; /* 0 to 1000 */
  agentd_str id, title, text;
  int64_t created_ms;
} agentd_recollection;

typedef struct agentd_session_start {
  uint32_t size;
  uint32_t source;                       /* AGENTD_SOURCE_                                 */
  const agentd_recollection* checkpoint; /* NULL = none offered                            */
  agentd_list memories;                  /* agentd_recollection, at most 3                 */
  agentd_str task;                       /* the first user text; empty: not known, or hooks check it first */
} agentd_session_start;

#define AGENTD_OUTCOME_UNKNOWN 0u
#define AGENTD_OUTCOME_SUCCESS 1u
#define AGENTD_OUTCOME_FAILURE 2u
#define AGENTD_OUTCOME_PARTIAL 3u

typedef struct agentd_session_end {
  uint32_t size;
  uint32_t outcome;  /* AGENTD_OUTCOME_                                       */
  agentd_str reason; /* exit, clear, interrupted, error, crash                */
  agentd_str task, approach, notes;
  agentd_list tags; /* agentd_str                                            */
} agentd_session_end;

#define AGENTD_MESSAGE_SOURCE_USER 1u
#define AGENTD_MESSAGE_SOURCE_HOOK 2u /* a continuation that a hook asked for */
#define AGENTD_MESSAGE_SOURCE_RECIPE 3u
#define AGENTD_MESSAGE_SOURCE_CLIENT 4u /* an ACP, MCP or HTTP client           */

typedef struct agentd_user_message {
  uint32_t size;
  uint32_t source; /* AGENTD_MESSAGE_SOURCE_ */
  agentd_str text;
  agentd_list images; /* agentd_block */
} agentd_user_message;

#define AGENTD_STOP_END_TURN 1u
#define AGENTD_STOP_TOOL_USE 2u
#define AGENTD_STOP_MAX_TOKENS 3u
#define AGENTD_STOP_SEQUENCE 4u
#define AGENTD_STOP_REFUSAL 5u
#define AGENTD_STOP_PAUSE 6u
#define AGENTD_STOP_CONTEXT_LENGTH 7u
#define AGENTD_STOP_INTERRUPTED 8u

#define AGENTD_TURN_FINAL 1u /* flags: no tool was asked for; agent_stop follows */

/* turn_start fills turn_number only. */
typedef struct agentd_turn {
  uint32_t size;
  uint32_t flags;         /* AGENTD_TURN_FINAL                       */
  uint32_t turn_number;   /* 1-based within the run                  */
  uint32_t stop_reason;   /* AGENTD_STOP_                            */
  agentd_str response;    /* the text of the answer                  */
  agentd_list tool_calls; /* agentd_block of kind TOOL_USE         */
  const agentd_usage* usage;
} agentd_turn;

typedef struct agentd_tool_info {
  uint32_t size;
  uint32_t flags; /* AGENTD_TOOL_ of ext/tools.h */
  agentd_str name, description, origin;
} agentd_tool_info;

typedef struct agentd_model_call {
  uint32_t size;
  uint32_t reserved0;
  agentd_str model;
  uint64_t message_count, max_output_tokens;
  const agentd_gauge* context;
  agentd_list tools;    /* agentd_tool_info                 */
  agentd_list messages; /* agentd_message; wants MESSAGES   */
  agentd_str system;
} agentd_model_call;

typedef struct agentd_model_delta {
  uint32_t size;
  uint32_t reserved0;
  agentd_list text; /* agentd_str, in order of arrival      */
} agentd_model_delta;

typedef struct agentd_model_response {
  uint32_t size;
  uint32_t stop_reason; /* AGENTD_STOP_                      */
  agentd_str text;      /* all text blocks, joined           */
  const agentd_message* message;
  const agentd_usage* usage;
  uint64_t duration_ns;
} agentd_model_response;

typedef struct agentd_tool_result {
  uint32_t size;
  uint32_t success; /* 1 or 0                                                        */
  agentd_str content;
  agentd_str structured_json;
  agentd_str error;
  agentd_str spill_path; /* where the rest of an output over the cap was written      */
  agentd_list blocks;    /* agentd_block                                              */
  uint64_t full_len;     /* bytes that the tool wrote                                 */
  uint64_t duration_ns;
} agentd_tool_result;

/* flags, since 1.1: the call was refused and the tool did not run. tool_call_failed is fired for such calls too, but
 * only for observers, and only for modules that target 1.1. */
#define AGENTD_TOOL_CALL_DENIED 0x80000000u

/* before_tool_call, permission_request, after_tool_call, tool_call_failed, TOOL_INVOKE. */
typedef struct agentd_tool_call {
  uint32_t size;
  uint32_t flags; /* AGENTD_TOOL_ of ext/tools.h, AGENTD_TOOL_CALL_                 */
  agentd_str name, call_id;
  agentd_str input_json;            /* one JSON object                                    */
  agentd_str origin;                /* plugin id, "mcp:server", "core"                    */
  agentd_str suggestions_json;      /* permission_request: rules that would allow it      */
  uint64_t tool;                    /* TOOL_INVOKE: agentd_tool.tag                       */
  const agentd_tool_result* result; /* NULL before the tool ran                      */
} agentd_tool_call;

#define AGENTD_AGENT_STOP_HOOK_ACTIVE 1u /* flags: this run goes on because a hook said so */

typedef struct agentd_agent_stop {
  uint32_t size;
  uint32_t flags;        /* AGENTD_AGENT_STOP_                              */
  uint32_t continuation; /* how often hooks have continued this run, 0 to 8 */
  uint32_t stop_reason;  /* AGENTD_STOP_                                    */
  agentd_str response;
  const agentd_usage* usage; /* totals of the conversation                  */
  const agentd_gauge* context;
  uint64_t max_context_window; /* the model's window, tokens; 0 = unknown   */
  agentd_list messages;        /* agentd_message; wants MESSAGES                  */
} agentd_agent_stop;

typedef struct agentd_context_threshold {
  uint32_t size;
  uint32_t percent;   /* of the limit */
  uint32_t threshold; /* percent      */
  uint32_t reserved0;
  agentd_str checkpoint_id;
} agentd_context_threshold;

#define AGENTD_TRIGGER_MANUAL 1
#define AGENTD_TRIGGER_AUTO 2
#define AGENTD_REASON_THRESHOLD 1
#define AGENTD_REASON_OVERFLOW 2
#define AGENTD_REASON_MANUAL 3
#define AGENTD_REASON_HOOK 4
#define AGENTD_PHASE_PRE_REQUEST 1
#define AGENTD_PHASE_MID_TURN 2
#define AGENTD_PHASE_POST_TURN 3
#define AGENTD_PHASE_STANDALONE 4
#define AGENTD_PHASE_OVERFLOW 5
#define AGENTD_STRATEGY_DEFAULT 0 /* the door's own */
#define AGENTD_STRATEGY_FULL 1
#define AGENTD_STRATEGY_TAIL 2
#define AGENTD_STRATEGY_USERS 3

typedef struct agentd_before_compaction {
  uint32_t size;
  uint16_t trigger;  /* AGENTD_TRIGGER_  */
  uint16_t reason;   /* AGENTD_REASON_   */
  uint16_t phase;    /* AGENTD_PHASE_    */
  uint16_t strategy; /* AGENTD_STRATEGY_ */
  uint32_t vetoes;   /* vetoes in a row so far */
  uint64_t tokens, limit, keep_tokens, floor_tokens;
  uint64_t summarized_first, summarized_last; /* log sequences, inclusive; 0 = none */
  uint64_t kept_first, kept_last;
  agentd_str model, custom_instructions;
  const agentd_gauge* context;
  agentd_list messages; /* agentd_message; wants MESSAGES */
} agentd_before_compaction;

#define AGENTD_RESULT_APPLIED 1
#define AGENTD_RESULT_DEGRADED 2
#define AGENTD_RESULT_NOOP 3
#define AGENTD_RESULT_FAILED 4
#define AGENTD_RESULT_VETOED 5
#define AGENTD_METHOD_SUMMARY 1  /* one summary by the model                   */
#define AGENTD_METHOD_CHUNKED 2  /* map-reduce over parts                      */
#define AGENTD_METHOD_HOOK 3     /* a hook supplied the summary                */
#define AGENTD_METHOD_REPLACE 4  /* a hook supplied the messages               */
#define AGENTD_METHOD_PRUNE 5    /* old tool results were shortened            */
#define AGENTD_METHOD_TRUNCATE 6 /* the marked fallback                        */

typedef struct agentd_after_compaction {
  uint32_t size;
  uint16_t result; /* AGENTD_RESULT_ */
  uint16_t method; /* AGENTD_METHOD_ */
  const agentd_before_compaction* request;
  uint64_t pre_tokens, post_tokens, duration_ns;
  uint64_t boundary_seq, revision;
  const agentd_usage* usage_before; /* totals before the compaction        */
  const agentd_usage* usage_spent;  /* what the compaction itself cost     */
  agentd_str boundary_id, summary, error;
} agentd_after_compaction;

typedef struct agentd_clear {
  uint32_t size;
  uint32_t reserved0;
  agentd_str reason;
  agentd_str new_conversation_id; /* after_clear */
  agentd_str checkpoint_id;       /* before_clear, since 1.1; empty = none was made */
} agentd_clear;

typedef struct agentd_subagent {
  uint32_t size;
  uint32_t depth;
  agentd_str agent_id, agent_type, prompt;
} agentd_subagent;

typedef struct agentd_agent_error {
  uint32_t size;
  uint32_t retryable; /* 1 or 0 */
  agentd_str code, message;
  agentd_str phase; /* model, tool, store, hook, compaction */
} agentd_agent_error;

#define AGENTD_LEVEL_DEBUG 0
#define AGENTD_LEVEL_INFO 1
#define AGENTD_LEVEL_WARNING 2
#define AGENTD_LEVEL_ERROR 3

typedef struct agentd_notification {
  uint32_t size;
  uint32_t level; /* AGENTD_LEVEL_ */
  agentd_str text;
} agentd_notification;

/* The addresses in each record, one row with its texts, lists and pointers:
 *   X(record, AGENTD_TEXT(member), AGENTD_LIST(member, record of its elements), AGENTD_POINTER(member, record))
 * The record is agentd_X; for a list of texts it is `text`. The user of a list defines those macros. A record that is
 * not listed here, or not with all its addresses, cannot cross to a worker. */
/* clang-format off */
#define AGENTD_EVENT_RECORDS(X)                                                                    \
  X(gauge, )                                                                                       \
  X(usage, )                                                                                       \
  X(envelope, AGENTD_TEXT(event_id), AGENTD_TEXT(conversation_id), AGENTD_TEXT(session_id),        \
    AGENTD_TEXT(run_id), AGENTD_TEXT(turn_id), AGENTD_TEXT(cwd), AGENTD_TEXT(project_id),          \
    AGENTD_TEXT(recipe), AGENTD_TEXT(provider), AGENTD_TEXT(model), AGENTD_TEXT(agent_id),         \
    AGENTD_TEXT(agent_type), AGENTD_POINTER(context, gauge))                                       \
  X(block, AGENTD_TEXT(text), AGENTD_TEXT(name), AGENTD_TEXT(call_id), AGENTD_TEXT(json),          \
    AGENTD_TEXT(opaque), AGENTD_LIST(parts, block), AGENTD_TEXT(blob))                             \
  X(message, AGENTD_LIST(blocks, block))                                                           \
  X(recollection, AGENTD_TEXT(id), AGENTD_TEXT(title), AGENTD_TEXT(text))                          \
  X(session_start, AGENTD_POINTER(checkpoint, recollection), AGENTD_LIST(memories, recollection),  \
    AGENTD_TEXT(task))                                                                             \
  X(session_end, AGENTD_TEXT(reason), AGENTD_TEXT(task), AGENTD_TEXT(approach),                    \
    AGENTD_TEXT(notes), AGENTD_LIST(tags, text))                                                   \
  X(user_message, AGENTD_TEXT(text), AGENTD_LIST(images, block))                                   \
  X(turn, AGENTD_TEXT(response), AGENTD_LIST(tool_calls, block), AGENTD_POINTER(usage, usage))     \
  X(tool_info, AGENTD_TEXT(name), AGENTD_TEXT(description), AGENTD_TEXT(origin))                   \
  X(model_call, AGENTD_TEXT(model), AGENTD_POINTER(context, gauge), AGENTD_LIST(tools, tool_info), \
    AGENTD_LIST(messages, message), AGENTD_TEXT(system))                                           \
  X(model_delta, AGENTD_LIST(text, text))                                                          \
  X(model_response, AGENTD_TEXT(text), AGENTD_POINTER(message, message),                           \
    AGENTD_POINTER(usage, usage))                                                                  \
  X(tool_result, AGENTD_TEXT(content), AGENTD_TEXT(structured_json), AGENTD_TEXT(error),           \
    AGENTD_TEXT(spill_path), AGENTD_LIST(blocks, block))                                           \
  X(tool_call, AGENTD_TEXT(name), AGENTD_TEXT(call_id), AGENTD_TEXT(input_json),                   \
    AGENTD_TEXT(origin), AGENTD_TEXT(suggestions_json), AGENTD_POINTER(result, tool_result))       \
  X(agent_stop, AGENTD_TEXT(response), AGENTD_POINTER(usage, usage),                               \
    AGENTD_POINTER(context, gauge), AGENTD_LIST(messages, message))                                \
  X(context_threshold, AGENTD_TEXT(checkpoint_id))                                                 \
  X(before_compaction, AGENTD_TEXT(model), AGENTD_TEXT(custom_instructions),                       \
    AGENTD_POINTER(context, gauge), AGENTD_LIST(messages, message))                                \
  X(after_compaction, AGENTD_POINTER(request, before_compaction),                                  \
    AGENTD_POINTER(usage_before, usage), AGENTD_POINTER(usage_spent, usage),                       \
    AGENTD_TEXT(boundary_id), AGENTD_TEXT(summary), AGENTD_TEXT(error))                            \
  X(clear, AGENTD_TEXT(reason), AGENTD_TEXT(new_conversation_id), AGENTD_TEXT(checkpoint_id))      \
  X(subagent, AGENTD_TEXT(agent_id), AGENTD_TEXT(agent_type), AGENTD_TEXT(prompt))                 \
  X(agent_error, AGENTD_TEXT(code), AGENTD_TEXT(message), AGENTD_TEXT(phase))                      \
  X(notification, AGENTD_TEXT(text))
/* clang-format on */

AGENTD_LAYOUT(agentd_gauge, 56);
AGENTD_LAYOUT(agentd_usage, 56);
AGENTD_LAYOUT(agentd_envelope, 232);
AGENTD_LAYOUT(agentd_block, 128);
AGENTD_LAYOUT(agentd_message, 48);
AGENTD_LAYOUT(agentd_tool_result, 104);
AGENTD_LAYOUT(agentd_tool_call, 104);
AGENTD_LAYOUT(agentd_agent_stop, 72);
AGENTD_LAYOUT(agentd_before_compaction, 136);
AGENTD_LAYOUT(agentd_after_compaction, 120);

#ifdef __cplusplus
}
#endif

/* The numbers of a compaction with their names in the log, the payload, the contract and programs' answers:
 *   X(AGENTD_ number without its prefix, name)
 * To add a number, define it above and add its row at the end of its list. */
/* clang-format off */
#define AGENTD_TRIGGER_LIST(X)                                                                     \
  X(TRIGGER_MANUAL, manual)                                                                        \
  X(TRIGGER_AUTO, auto)
#define AGENTD_REASON_LIST(X)                                                                      \
  X(REASON_THRESHOLD, threshold)                                                                   \
  X(REASON_OVERFLOW, overflow)                                                                     \
  X(REASON_MANUAL, manual)                                                                         \
  X(REASON_HOOK, hook)
#define AGENTD_PHASE_LIST(X)                                                                       \
  X(PHASE_PRE_REQUEST, pre_request)                                                                \
  X(PHASE_MID_TURN, mid_turn)                                                                      \
  X(PHASE_POST_TURN, post_turn)                                                                    \
  X(PHASE_STANDALONE, standalone)                                                                  \
  X(PHASE_OVERFLOW, overflow)
#define AGENTD_STRATEGY_LIST(X)                                                                    \
  X(STRATEGY_DEFAULT, default)                                                                     \
  X(STRATEGY_FULL, full)                                                                           \
  X(STRATEGY_TAIL, tail)                                                                           \
  X(STRATEGY_USERS, users)
#define AGENTD_RESULT_LIST(X)                                                                      \
  X(RESULT_APPLIED, applied)                                                                       \
  X(RESULT_DEGRADED, degraded)                                                                     \
  X(RESULT_NOOP, noop)                                                                             \
  X(RESULT_FAILED, failed)                                                                         \
  X(RESULT_VETOED, vetoed)
#define AGENTD_METHOD_LIST(X)                                                                      \
  X(METHOD_SUMMARY, summary)                                                                       \
  X(METHOD_CHUNKED, chunked)                                                                       \
  X(METHOD_HOOK, hook)                                                                             \
  X(METHOD_REPLACE, replace)                                                                       \
  X(METHOD_PRUNE, prune)                                                                           \
  X(METHOD_TRUNCATE, truncate)
/* clang-format on */
#endif
