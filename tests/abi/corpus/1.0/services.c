/* SPDX-License-Identifier: Apache-2.0 */
/* services.c - asks for every service that ABI 1.0 has, and reports what each of them answered.
 *
 * The report is the output of the tool corpus_services. It has nothing in it that differs from run
 * to run.
 */
#include <agentd/ext/field.h>
#include <agentd/ext/json.h>
#include <agentd/ext/tools.h>
#include <string.h>

#define TEXT(literal) \
  { literal, sizeof(literal) - 1 }

AGENTD_MANIFEST(
    "{\"id\":\"org.example.corpus.services\",\"version\":\"1.0.0\",\"abi\":\"1.0\",\"events\":["
    "\"agent_stop\"],"
    "\"requires\":[\"compactor\",\"threads\",\"store\",\"agentd.tools/1\",\"agentd.json/"
    "1\",\"agentd.field/1\"],"
    "\"concurrency\":\"serial\"}");

static agentd_str text_of(const char* from) {
  const agentd_str out = {from, strlen(from)};
  return out;
}

static int holds(agentd_str text, const char* part) {
  const size_t wanted = strlen(part);
  size_t at;
  for (at = 0; at + wanted <= text.len; ++at)
    if (memcmp(text.ptr + at, part, wanted) == 0) return 1;
  return 0;
}

/* ---- the report */

typedef struct report {
  char text[4096];
  size_t len;
} report;

static void say_text(report* to, agentd_str text) {
  size_t i;
  for (i = 0; i < text.len && to->len < sizeof to->text; ++i) to->text[to->len++] = text.ptr[i];
}
static void say(report* to, const char* text) { say_text(to, text_of(text)); }
static void say_number(report* to, long long number) {
  char digits[24];
  size_t count = 0;
  if (number < 0) say(to, "-");
  if (number < 0) number = -number;
  do digits[count++] = (char)('0' + number % 10);
  while ((number /= 10) != 0);
  while (count > 0 && to->len < sizeof to->text) to->text[to->len++] = digits[--count];
}
static void line(report* to, const char* what, agentd_status status, int good) {
  say(to, what);
  say(to, " ");
  say_number(to, status);
  say(to, good ? " as expected\n" : " NOT AS EXPECTED\n");
}

/* ---- one function for each service */

static void use_core(report* to, const agentd_call* call) {
  const agentd_core* core = call->core;
  const agentd_str known = TEXT("agent_stop"), nonsense = TEXT("org.example.nonsense/1");
  const agentd_live* live = 0;
  agentd_token scope = 0;
  agentd_status status = core->scope_open(core, call->conversation, UINT64_MAX, &scope, &live);
  char* memory = (char*)core->arena(core, call->token, 100, 64);
  line(to, "arena", 0, memory != 0 && ((size_t)memory & 63) == 0);
  if (memory != 0) memory[99] = 1;
  line(to, "scope_open", status, scope != 0 && live != 0 && live->cancel == 0);
  core->log(core, scope, 0, text_of("the corpus was here"));
  core->scope_close(core, scope);
  line(to, "complete of a stale token", core->complete(core, scope, AGENTD_OK), 1);
  line(to, "event_id", 0, core->event_id(core, known) == AGENTD_EVENT_AGENT_STOP);
  line(to, "event_id of nonsense", 0, core->event_id(core, nonsense) == 0);
  line(to, "query of nonsense", 0, core->query(core, nonsense, 8) == 0);
  line(to, "now_ns", 0, core->now_ns(core) > 0);
}

static void use_compactor(report* to, const agentd_call* call, agentd_str id) {
  const agentd_compactor* compactor = call->services->compactor;
  const agentd_str none = {0, 0}, words = TEXT("How many tokens are these words?");
  agentd_compact_options options = {sizeof options, 0, 0, 0, 0, {0, 0}, TEXT("heed the corpus")};
  agentd_compact_source source = {sizeof source, 0, 0, 0, 0, {0, 0, 0}};
  agentd_block block;
  agentd_message message;
  const agentd_compact_result* result = 0;
  agentd_str prompt = none;
  uint64_t count = 0;
  agentd_status status = compactor->count_text(compactor, call->token, none, words, &count);
  line(to, "count_text", status, count > 3 && count < 30);
  memset(&block, 0, sizeof block);
  memset(&message, 0, sizeof message);
  block.size = sizeof block;
  block.kind = AGENTD_BLOCK_TEXT;
  block.text = words;
  message.size = sizeof message;
  message.role = AGENTD_ROLE_USER;
  message.blocks.first = &block;
  message.blocks.count = 1;
  message.blocks.stride = sizeof block;
  source.messages.first = &message;
  source.messages.count = 1;
  source.messages.stride = sizeof message;
  status = compactor->count_messages(compactor, call->token, none, source.messages, &count);
  line(to, "count_messages", status, count > 3 && count < 60);
  status = compactor->prompt(compactor, call->token, &options, &prompt);
  line(to, "prompt", status, holds(prompt, "heed the corpus"));
  status = compactor->compact(compactor, call->token, &source, &options, &result);
  line(to, "compact", status, result != 0 && holds(result->summary, "in short"));
  status = compactor->request(compactor, call->token, id, &options);
  line(to, "request", status, 1);
}

static void use_threads(report* to, const agentd_call* call) {
  const agentd_thread_factory* threads = call->services->threads;
  agentd_thread_options options = {sizeof options, 100, {0, 0}, TEXT("You are part of a corpus."),
                                   {0, 0, 0},      0,   0};
  const agentd_reply* reply = 0;
  const agentd_usage* usage = 0;
  agentd_thread thread = 0;
  agentd_status status = threads->open(threads, call->token, &options, &thread);
  line(to, "open", status, thread != 0);
  status = threads->send(threads, call->token, thread, text_of("Are you there?"), &reply);
  line(to, "send", status, reply != 0 && holds(reply->text, "I am here"));
  status = threads->usage(threads, call->token, thread, &usage);
  line(to, "usage", status, usage != 0);
  line(to, "close", threads->close(threads, thread), 1);
  line(to, "close again", threads->close(threads, thread), 1);
}

static void use_own_keys(report* to, const agentd_call* call) {
  const agentd_store* store = call->services->store;
  agentd_kv_op ops[2] = {
      {sizeof ops[0], AGENTD_KV_PUT, TEXT("corpus/a"), TEXT("1"), AGENTD_KV_ABSENT},
      {sizeof ops[0], AGENTD_KV_PUT, TEXT("corpus/b"), TEXT("2"), AGENTD_KV_ANY}};
  const agentd_list all = {ops, 2, sizeof ops[0]};
  const agentd_kv* pair = 0;
  agentd_list found = {0, 0, 0};
  uint64_t version = 0;
  agentd_status status = store->commit(store, call->token, all, &version);
  line(to, "commit", status, version != 0);
  line(to, "commit of a key that exists", store->commit(store, call->token, all, &version), 1);
  status = store->get(store, call->token, text_of("corpus/a"), &pair);
  line(to, "get", status, pair != 0 && pair->version != 0 && holds(pair->value, "1"));
  line(to, "get of nothing", store->get(store, call->token, text_of("nothing"), &pair), 1);
  status = store->scan(store, call->token, text_of("corpus/"), text_of("corpus/a"), 10, &found);
  line(to, "scan", status, found.count == 1 && holds(((const agentd_kv*)found.first)->value, "2"));
}

/* The id of the newest conversation, which is the one that runs. */
static agentd_str use_conversations(report* to, const agentd_call* call) {
  const agentd_store* store = call->services->store;
  agentd_conv_query query = {sizeof query, 1, {0, 0}, {0, 0}, {0, 0}, 0, 0};
  agentd_list found = {0, 0, 0};
  agentd_str id = {0, 0}, bytes = {0, 0};
  uint64_t next = 0;
  agentd_status status = store->conversations(store, call->token, &query, &found);
  line(to, "conversations", status, found.count == 1);
  if (found.count == 1) id = ((const agentd_conv_info*)found.first)->conversation_id;
  status = store->messages(store, call->token, id, AGENTD_SCOPE_LOG, 0, 0, 0, &found);
  line(to, "messages", status, found.count == 2); /* the question and the call of this tool */
  status = store->read_blob(store, call->token, text_of("no such blob"), 0, 10, &bytes);
  line(to, "read_blob of nothing", status < 0 ? -1 : 0, status < 0);
  status = store->changes(store, call->token, 0, 10, &found, &next);
  line(to, "changes", status, found.count == 1 && next != 0);
  return id;
}

static void use_payload(report* to, const agentd_call* call) {
  const agentd_core* core = call->core;
  const agentd_json* json =
      (const agentd_json*)core->query(core, text_of(AGENTD_JSON_ID), sizeof(agentd_json));
  const agentd_field* field =
      (const agentd_field*)core->query(core, text_of(AGENTD_FIELD_ID), sizeof(agentd_field));
  agentd_str out = {0, 0};
  agentd_status status = json->payload(json, call->token, &out);
  line(to, "payload", status, holds(out, "agent_stop"));
  status = field->get(field, call->token, field->key(field, text_of("event")), &out);
  line(to, "field", status, 1);
  status = field->get(field, call->token, field->key(field, text_of("no.such.field")), &out);
  line(to, "field of nothing", status, 1);
}

/* ---- the hook */

static agentd_status AGENTD_CALL run_tool(void* self, const agentd_call* call) {
  report to;
  agentd_act_text piece = {{sizeof piece, AGENTD_ACT_TOOL_OUTPUT, 0}, 0, 0, {0, 0}};
  (void)self;
  to.len = 0;
  use_core(&to, call);
  use_own_keys(&to, call);
  use_compactor(&to, call, use_conversations(&to, call));
  use_threads(&to, call);
  piece.text.ptr = to.text;
  piece.text.len = to.len;
  return call->core->emit(call->core, call->token, &piece.h);
}

static agentd_status AGENTD_CALL stop(void* self, const agentd_call* call) {
  report to;
  agentd_act_text message = {{sizeof message, AGENTD_ACT_SYSTEM_MESSAGE, 0}, 0, 0, {0, 0}};
  (void)self;
  to.len = 0;
  use_payload(&to, call);
  message.text.ptr = to.text;
  message.text.len = to.len;
  return call->core->emit(call->core, call->token, &message.h);
}

static agentd_status AGENTD_CALL create(const agentd_call* call, void** self) {
  const agentd_core* core = call->core;
  const agentd_tools* tools =
      (const agentd_tools*)core->query(core, text_of(AGENTD_TOOLS_ID), sizeof(agentd_tools));
  agentd_tool tool = {sizeof tool,
                      AGENTD_TOOL_READ_ONLY,
                      TEXT("corpus_services"),
                      {0, 0},
                      TEXT("Asks every service."),
                      TEXT("{\"type\":\"object\"}"),
                      {0, 0},
                      0,
                      0,
                      run_tool,
                      7};
  *self = 0;
  return tools->add(tools, call->token, &tool);
}

static const agentd_hook hooks[] = {{AGENTD_EVENT_AGENT_STOP, 0, 0, stop, 0}};

static const agentd_plugin plugin = {sizeof(agentd_plugin),
                                     AGENTD_SERIAL,
                                     TEXT("org.example.corpus.services"),
                                     TEXT("1.0.0"),
                                     create,
                                     0,
                                     0,
                                     0,
                                     {hooks, 1, sizeof hooks[0]}};

agentd_status AGENTD_CALL agentd_hook_entry_v1(agentd_negotiate* io) {
  io->magic = AGENTD_MAGIC;
  io->abi = AGENTD_ABI;
  io->plugin = &plugin;
  return AGENTD_OK;
}
