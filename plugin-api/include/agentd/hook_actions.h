/* SPDX-License-Identifier: Apache-2.0 */
/* hook_actions.h - the actions that a hook may emit.
 *
 * An action is pushed with core->emit(token, &action.h); the host copies it before emit() returns. A hook that emits
 * nothing gives no answer. An action that is not legal for the event is refused with AGENTD_E_UNSUPPORTED and reported;
 * it changes nothing.
 *
 * Merging: rewrites chain in order of priority. The first BLOCK stops the chain. Of the exclusive actions (COMPACT,
 * SUMMARY, REPLACE_MESSAGES, CALLBACK) the first is used and each later one is reported as a conflict. CONTINUE
 * messages add up in order. Precedence: STOP_RUN over deny over defer over ask over allow. An observer's actions are
 * ignored.
 */
#ifndef AGENTD_HOOK_ACTIONS_H
#define AGENTD_HOOK_ACTIONS_H
#include "hook_events.h"

#ifdef __cplusplus
extern "C" {
#endif

/* clang-format off */
#define AGENTD_ACT_BLOCK 1            /* agentd_act_text: the reason                                         */
#define AGENTD_ACT_CONTINUE 2         /* agentd_act_text: the next user message                              */
#define AGENTD_ACT_COMPACT 3          /* agentd_act_compact                                                  */
#define AGENTD_ACT_SUMMARY 4          /* agentd_act_text: before_compaction: applied verbatim; agent_stop:
                                         stored, the view stays; empty text = the host makes one            */
#define AGENTD_ACT_REPLACE_MESSAGES 5 /* agentd_act_replace                                                  */
#define AGENTD_ACT_REPLACE_TEXT 6     /* agentd_act_text: the text of the payload that `target` names        */
#define AGENTD_ACT_INJECT_CONTEXT 7   /* agentd_act_text: context for the model, outside summarised history  */
#define AGENTD_ACT_SYSTEM_MESSAGE 8   /* agentd_act_text: shown to the user, not to the model                */
#define AGENTD_ACT_SET 9              /* agentd_act_set                                                      */
#define AGENTD_ACT_TOOLS_ENABLE 10    /* agentd_act_text: names, separated by commas                         */
#define AGENTD_ACT_TOOLS_DISABLE 11   /* agentd_act_text: names, separated by commas                         */
#define AGENTD_ACT_PERMISSION 12      /* agentd_act_permission                                               */
#define AGENTD_ACT_CALLBACK 13        /* agentd_act_recipe                                                   */
#define AGENTD_ACT_STATE 14           /* agentd_act_text: the answer to SAVE_STATE                           */
#define AGENTD_ACT_TOOL_OUTPUT 15     /* agentd_act_text: one piece of a tool's output, in order             */
#define AGENTD_ACT_TOOL_RESULT 16     /* agentd_act_tool_result: ends a TOOL_INVOKE                          */
#define AGENTD_ACT_STOP_RUN 17        /* agentd_act_text: the reason. Since 1.1: when core->host_minor is 0,
                                         emit() answers AGENTD_E_ARG. Ends the run: what the event announces
                                         and the tool calls that are left do not run, and the model is not
                                         asked again. In a subagent it ends the subagent's run; outside of a
                                         run it is a BLOCK                                                   */
#define AGENTD_ACT_SERVICE_RESULT 18  /* agentd_act_text: ends a SERVICE_CALL with one JSON value             */
/* clang-format on */

/* FROZEN header of every action. */
typedef struct agentd_action {
  uint32_t size; /* of the whole action */
  uint16_t kind; /* AGENTD_ACT_         */
  uint16_t flags;
} agentd_action;

/* agentd_act_text.target for REPLACE_TEXT. 0 = the event's own text. */
#define AGENTD_TEXT_DEFAULT 0u
#define AGENTD_TEXT_MESSAGE 1u     /* user_message_send: the message      */
#define AGENTD_TEXT_TOOL_INPUT 2u  /* before_tool_call: input_json        */
#define AGENTD_TEXT_TOOL_OUTPUT 3u /* after_tool_call, tool_call_failed   */
#define AGENTD_TEXT_RESPONSE 4u    /* after_model_call: the answer's text */

typedef struct agentd_act_text {
  agentd_action h;
  uint32_t target; /* AGENTD_TEXT_ */
  uint32_t reserved0;
  agentd_str text;
} agentd_act_text;

typedef struct agentd_act_compact {
  agentd_action h;
  uint32_t strategy; /* AGENTD_STRATEGY_ */
  uint32_t reserved0;
  uint64_t keep_tokens; /* 0 = the strategy's own */
  agentd_str model, instructions;
} agentd_act_compact;

#define AGENTD_PART_KEEP 1u    /* messages first..last of the view, by log sequence, inclusive */
#define AGENTD_PART_LITERAL 2u /* a new message                                                */

typedef struct agentd_part {
  uint32_t size;
  uint32_t kind; /* AGENTD_PART_ */
  uint64_t first, last;
  const agentd_message* message;
} agentd_part;

typedef struct agentd_act_replace {
  agentd_action h;
  uint64_t base_revision; /* the revision that the parts were made from; a stale one is refused */
  agentd_list parts;      /* agentd_part */
} agentd_act_replace;

#define AGENTD_KEY_MODEL 1u               /* text   before_model_call, before_compaction */
#define AGENTD_KEY_CUSTOM_INSTRUCTIONS 2u /* text   before_compaction: appended          */
#define AGENTD_KEY_STRATEGY 3u            /* number before_compaction: AGENTD_STRATEGY_  */
#define AGENTD_KEY_KEEP_TOKENS 4u         /* number before_compaction                    */
#define AGENTD_KEY_THEN 5u                /* number agent_stop: 0 stop, 1 continue       */
#define AGENTD_KEY_TITLE 6u               /* text   session_start, agent_stop            */

/* The list of keys, one row each:
 *   X(NAME, answer, events)
 *     answer  the key of a program's answer, or in parentheses what else sets it; shown to users
 *     events  the events at which SET has an effect for the key */
/* clang-format off */
#define AGENTD_KEY_LIST(X)                                                                         \
  X(MODEL, "model", AGENTD_AT(BEFORE_MODEL_CALL) | AGENTD_AT(BEFORE_COMPACTION))                   \
  X(CUSTOM_INSTRUCTIONS, "custom_instructions", AGENTD_AT(BEFORE_COMPACTION))                      \
  X(STRATEGY, "strategy", AGENTD_AT(BEFORE_COMPACTION))                                            \
  X(KEEP_TOKENS, "keep_tokens", AGENTD_AT(BEFORE_COMPACTION))                                      \
  X(THEN, "then: stop or continue", AGENTD_AT(AGENT_STOP) | AGENTD_AT(SUBAGENT_STOP))              \
  X(TITLE, "(native hooks: the conversation's title)",                                             \
    AGENTD_AT(SESSION_START) | AGENTD_AT(AGENT_STOP) | AGENTD_AT(SUBAGENT_STOP))
/* clang-format on */
/* One event of the column `events`: AGENTD_AT(AGENT_STOP). */
#define AGENTD_AT(EVENT) ((uint64_t)1 << AGENTD_EVENT_##EVENT)

typedef struct agentd_act_set {
  agentd_action h;
  uint32_t key; /* AGENTD_KEY_ */
  uint32_t reserved0;
  uint64_t number;
  agentd_str text;
} agentd_act_set;

#define AGENTD_PERMISSION_ALLOW 1u
#define AGENTD_PERMISSION_DENY 2u
#define AGENTD_PERMISSION_ASK 3u
/* The run waits: the call is kept, and a person decides with `agentd approve`, in a process of any later time. Since
 * minor 1; an older host refuses the answer, and a gate that gives it blocks there. */
#define AGENTD_PERMISSION_DEFER 4u

typedef struct agentd_act_permission {
  agentd_action h;
  uint32_t decision; /* AGENTD_PERMISSION_                    */
  uint32_t remember; /* 0 = this call, 1 = this session       */
  agentd_str reason;
} agentd_act_permission;

typedef struct agentd_act_recipe {
  agentd_action h;
  agentd_str name, arguments_json;
} agentd_act_recipe;

typedef struct agentd_act_tool_result {
  agentd_action h;
  uint32_t is_error; /* 1 or 0 */
  uint32_t reserved0;
  agentd_str structured_json;
  agentd_list blocks; /* agentd_block; added after the pieces of TOOL_OUTPUT */
} agentd_act_tool_result;

/* The list of actions, one row each:
 *   X(NAME, name, record, merge, answer, does)
 *     name    in the log, the contract and programs' answers
 *     record  agentd_X, which begins with the header above
 *     merge   how the actions of several hooks merge. Blocks: the first one ends the chain; AddsUp: all of them, in
 *             order; Exclusive: the first of all exclusive actions, the others are conflicts; Chains: each hook gets
 *             the text of the one before; LastWins: the last one; Strictest: deny over defer over ask over allow;
 *             EndsRun: the first one, over all others; Answers: the answer to a control call
 *     answer  the keys of a program's answer, shown to users
 *     does    its effect, shown to users
 * The rows are in the order of their numbers. To add an action, add its number above and its row here, and name it in
 * the rows of the events that allow it (hook_events.h): its copying, shape, name and merging, the contract and the
 * reference page follow. */
/* clang-format off */
#define AGENTD_ACTION_LIST(X)                                                                      \
  X(BLOCK, block, act_text, Blocks, "action: block, reason",                                       \
    "stops the announced action")                                                                  \
  X(CONTINUE, continue, act_text, AddsUp, "action: continue, messages",                            \
    "adds user messages, and the run continues; at most 8 times in a row")                         \
  X(COMPACT, compact, act_compact, Exclusive,                                                      \
    "action: compact, strategy, keep_tokens, model, custom_instructions, messages",                \
    "compacts the history; with messages the run then continues")                                  \
  X(SUMMARY, summary, act_text, Exclusive, "action: summary, summary",                             \
    "before_compaction: this text is the summary; when the agent stops: a summary is stored, "     \
    "made by agentd if the text is empty, and the history stays unchanged")                        \
  X(REPLACE_MESSAGES, replace, act_replace, Exclusive, "action: replace, replace_messages",        \
    "replaces the messages; before_model_call: in that one request only")                          \
  X(REPLACE_TEXT, rewrite, act_text, Chains, "",                                                   \
    "replaces the text")                                                                           \
  X(INJECT_CONTEXT, inject_context, act_text, AddsUp, "additional_context",                        \
    "gives the model context that is never summarized")                                            \
  X(SYSTEM_MESSAGE, system_message, act_text, AddsUp, "system_message",                            \
    "shows the user a message; the model does not see it")                                         \
  X(SET, set, act_set, LastWins, "",                                                               \
    "sets a value")                                                                                \
  X(TOOLS_ENABLE, tools_enable, act_text, AddsUp, "tools{enable}",                                 \
    "enables tools again that were disabled")                                                      \
  X(TOOLS_DISABLE, tools_disable, act_text, AddsUp, "tools{disable}",                              \
    "hides these tools from the model")                                                            \
  X(PERMISSION, permission, act_permission, Strictest,                                             \
    "permission: allow, deny, ask or defer, reason",                                               \
    "decides instead of the user; allow skips the question, never a rule that denies")             \
  X(CALLBACK, callback, act_recipe, Exclusive, "action: callback, callback{recipe, args}",         \
    "runs a recipe outside of the conversation; its text becomes the next user message")           \
  X(STATE, state, act_text, Answers, "",                                                           \
    "answers SAVE_STATE")                                                                          \
  X(TOOL_OUTPUT, tool_output, act_text, Answers, "",                                               \
    "gives a piece of the output in a TOOL_INVOKE")                                                \
  X(TOOL_RESULT, tool_result, act_tool_result, Answers, "",                                        \
    "ends a TOOL_INVOKE")                                                                          \
  X(STOP_RUN, stop_run, act_text, EndsRun, "action: stop_run, reason",                             \
    "ends the run: the rest of it does not run, the model is not called again; outside of a run "  \
    "it blocks")                                                                                   \
  X(SERVICE_RESULT, service_result, act_text, Answers, "",                                         \
    "ends a SERVICE_CALL")                                                                         \
  /* the next action goes here */
/* clang-format on */

/* The addresses in the records; hook_events.h explains the rows. */
/* clang-format off */
#define AGENTD_ACTION_RECORDS(X)                                                                   \
  X(action, )                                                                                      \
  X(act_text, AGENTD_TEXT(text))                                                                   \
  X(act_compact, AGENTD_TEXT(model), AGENTD_TEXT(instructions))                                    \
  X(part, AGENTD_POINTER(message, message))                                                        \
  X(act_replace, AGENTD_LIST(parts, part))                                                         \
  X(act_set, AGENTD_TEXT(text))                                                                    \
  X(act_permission, AGENTD_TEXT(reason))                                                           \
  X(act_recipe, AGENTD_TEXT(name), AGENTD_TEXT(arguments_json))                                    \
  X(act_tool_result, AGENTD_TEXT(structured_json), AGENTD_LIST(blocks, block))
/* clang-format on */

AGENTD_LAYOUT(agentd_action, 8);
AGENTD_LAYOUT(agentd_act_text, 32);
AGENTD_LAYOUT(agentd_act_compact, 56);
AGENTD_LAYOUT(agentd_part, 32);
AGENTD_LAYOUT(agentd_act_replace, 32);
AGENTD_LAYOUT(agentd_act_set, 40);
AGENTD_LAYOUT(agentd_act_permission, 32);
AGENTD_LAYOUT(agentd_act_recipe, 40);
AGENTD_LAYOUT(agentd_act_tool_result, 48);

#ifdef __cplusplus
}
#endif
#endif
