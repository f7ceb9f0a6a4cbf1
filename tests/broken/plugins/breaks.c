/* SPDX-License-Identifier: Apache-2.0 */
/* breaks.c - a module that breaks one rule of `agentd hooks validate`: that of the number BREAKS. */
#define _GNU_SOURCE 1
#include <agentd/ext/draft/provide.h>
#include <agentd/hook_abi.h>
#include <fcntl.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define TEXT(text) \
  { text, sizeof(text) - 1 }
#define ID "org.agentd.test.breaks"
#if BREAKS == 207
#define EVENTS "turn_start"
#else
#define EVENTS "before_tool_call"
#endif
#if BREAKS == 603
#define CONCURRENCY "concurrent"
#define CONCURRENCY_NUMBER AGENTD_CONCURRENT
#else
#define CONCURRENCY "serial"
#define CONCURRENCY_NUMBER AGENTD_SERIAL
#endif
#if BREAKS == 208
#define VERSION "1.0.1"
#else
#define VERSION "1.0.0"
#endif
#if BREAKS == 414
#define CAPABILITIES ",\"drafts\":[\"agentd.provide/1\"]"
#elif BREAKS == 114
#define CAPABILITIES ",\"capabilities\":[\"files:read\",\"netwrok\"]"
#else
#define CAPABILITIES ""
#endif

AGENTD_MANIFEST("{\"id\":\"" ID "\",\"version\":\"" VERSION "\",\"abi\":\"1.0\",\"events\":[\"" EVENTS
                "\"],\"wants\":[\"agentd.store\"],\"concurrency\":\"" CONCURRENCY "\"" CAPABILITIES "}");

#define UNUSED __attribute__((unused))
static UNUSED int instances;
static UNUSED unsigned calls;
static UNUSED const char* kept;
static UNUSED char* volatile leak; /* volatile: what nobody reads the compiler would not allocate */
static UNUSED const agentd_core* late_core;
static UNUSED agentd_token late_token;

static UNUSED void* sleep_on(void* none) {
  for (;;) sleep(100);
  return none;
}
static UNUSED void start_thread(void* (*run)(void*)) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, run, NULL) == 0) pthread_detach(thread);
}
static UNUSED void on_signal(int number) { (void)number; }
static UNUSED void at_end(void) { abort(); }
static UNUSED agentd_status block(const agentd_core* core, agentd_token token) {
  agentd_act_text action = {{sizeof action, AGENTD_ACT_BLOCK, 0}, 0, 0, TEXT("no")};
  return core->emit(core, token, &action.h);
}
static UNUSED void* emit_later(void* none) {
  usleep(30000);
  (void)block(late_core, late_token);
  return none;
}

static agentd_status AGENTD_CALL hook(void* self, const agentd_call* call) {
  const agentd_tool_call* tool = (const agentd_tool_call*)call->payload;
  (void)self;
  (void)tool;
#if BREAKS == 303
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR2);
  pthread_sigmask(SIG_BLOCK, &set, NULL);
#elif BREAKS == 401
  ((agentd_tool_call*)call->payload)->size = 1;
#elif BREAKS == 402
  agentd_act_compact action = {{sizeof action, AGENTD_ACT_COMPACT, 0}, 0, 0, 0, {0, 0}, {0, 0}};
  (void)call->core->emit(call->core, call->token, &action.h);
#elif BREAKS == 403
  if (tool->size != sizeof *tool) abort();
#elif BREAKS == 404
  if (tool->name.ptr[0] == '\1') return AGENTD_E_ARG;
#elif BREAKS == 405
  if (call->envelope->invoked_by > 99) abort();
#elif BREAKS == 406
  if (tool->name.len > 4096) abort();
#elif BREAKS == 407
  if (kept != NULL && kept[0] == '\1') return AGENTD_E_ARG;
  kept = tool->name.ptr;
#elif BREAKS == 408
  late_core = call->core;
  late_token = call->token;
  start_thread(emit_later);
#elif BREAKS == 409
  return AGENTD_PENDING;
#elif BREAKS == 410
  if (call->live->deadline_ns - call->core->now_ns(call->core) > 15000000000ull) sleep(4);
#elif BREAKS == 411
  if (call->live->deadline_ns - call->core->now_ns(call->core) < 1000000000ull) sleep(4);
#elif BREAKS == 412
  if (call->services->store->size == 0) return AGENTD_E_ARG;
#elif BREAKS == 413
  memset(call->core->arena(call->core, call->token, 8, 8), 0, 8);
#elif BREAKS == 501
  leak = (char*)malloc(100);
  if (leak != NULL) leak[0] = '\1';
#elif BREAKS == 603
  if (__atomic_fetch_add(&calls, 1, __ATOMIC_SEQ_CST) != 0) abort();
  usleep(2000);
  __atomic_fetch_sub(&calls, 1, __ATOMIC_SEQ_CST);
#elif BREAKS == 701
  if (self != NULL) return block(call->core, call->token);
#elif BREAKS == 900 /* for the fuzzer: a text that is absent, and not in the first call */
  if (++calls > 2 && tool->name.ptr == NULL) abort();
#endif
  return AGENTD_OK;
}

/* Some JSON gets an answer that is none. */
static UNUSED agentd_status AGENTD_CALL serve(void* self, const agentd_call* call) {
  const agentd_service_call* asked = (const agentd_service_call*)call->payload;
  agentd_act_text action = {{sizeof action, AGENTD_ACT_SERVICE_RESULT, 0}, 0, 0, TEXT("{}")};
  (void)self;
  if (asked->input_json.ptr[0] == '[') action.text.len = 1;
  return call->core->emit(call->core, call->token, &action.h);
}

static agentd_status AGENTD_CALL create(const agentd_call* call, void** self) {
  (void)call;
  *self = NULL;
  (void)hook;
#if BREAKS == 301
  (void)open("/dev/null", O_RDONLY | O_CLOEXEC);
#elif BREAKS == 302
  start_thread(sleep_on);
#elif BREAKS == 304
  if (chdir("/") != 0) return AGENTD_E_IO;
#elif BREAKS == 305
  (void)setlocale(LC_ALL, "C.UTF-8");
#elif BREAKS == 306
  (void)setenv("BREAKS", "306", 1);
#elif BREAKS == 308
  struct rlimit limit = {64, 64};
  (void)setrlimit(RLIMIT_NOFILE, &limit);
#elif BREAKS == 309
  fputs("hello\n", stderr);
#elif BREAKS == 310
  (void)atexit(at_end);
#elif BREAKS == 414
  {
    static const char id[] = "agentd.provide/1";
    const agentd_str wanted = {id, sizeof id - 1};
    const agentd_provide* provide =
        (const agentd_provide*)call->core->query(call->core, wanted, (uint32_t)sizeof(agentd_provide));
    agentd_service_row row = {sizeof row, 0, TEXT("org.agentd.test.breaks/1"), TEXT("serve"), 0, 0, serve, 0};
    if (provide != NULL && provide->add(provide, call->token, &row) != AGENTD_OK) return AGENTD_E_INTERNAL;
  }
#elif BREAKS == 502
  leak = (char*)malloc(4000);
  if (leak != NULL) leak[0] = '\1';
#elif BREAKS == 604
  if (instances++ != 0) return AGENTD_E_BUSY;
#elif BREAKS == 701 || BREAKS == 702
  {
    const agentd_create_info* info = (const agentd_create_info*)call->payload;
#if BREAKS == 701
    if (info->isolation == AGENTD_ISOLATION_IN_PROCESS) *self = (void*)&instances;
#else
    if (info->isolation == AGENTD_ISOLATION_PROCESS) return AGENTD_E_DENIED;
#endif
  }
#endif
  return AGENTD_OK;
}

static agentd_status AGENTD_CALL destroy(void* self, const agentd_call* call) {
  (void)self;
  (void)call;
  instances = 0;
#if BREAKS == 210
  return AGENTD_E_INTERNAL;
#else
  return AGENTD_OK;
#endif
}

#if BREAKS == 601 || BREAKS == 602
static agentd_status AGENTD_CALL save(void* self, const agentd_call* call) {
  char number[16];
  agentd_act_text action = {{sizeof action, AGENTD_ACT_STATE, 0}, 0, 0, {number, 0}};
  (void)self;
  action.text.len = (size_t)snprintf(number, sizeof number, "%u", BREAKS == 601 ? ++calls : 1u);
  return call->core->emit(call->core, call->token, &action.h);
}
static agentd_status AGENTD_CALL load(void* self, const agentd_call* call) {
  const agentd_create_info* info = (const agentd_create_info*)call->payload;
  (void)self;
#if BREAKS == 602
  if (info->state.len != 1) abort();
#else
  (void)info;
#endif
  return AGENTD_OK;
}
#define SAVE save
#define LOAD load
#else
#define SAVE NULL
#define LOAD NULL
#endif

static const agentd_hook rows[] = {{AGENTD_EVENT_BEFORE_TOOL_CALL, 0, 0, hook, 0}};
static const agentd_plugin plugin = {
    sizeof(agentd_plugin),    CONCURRENCY_NUMBER, TEXT(ID), TEXT("1.0.0"), create, destroy, SAVE, LOAD,
    {rows, 1, sizeof rows[0]}};
#if BREAKS == 203
static agentd_plugin copies[2];
static unsigned copy;
#endif

#if BREAKS == 102
AGENTD_EXPORT int agentd_test_another(void);
AGENTD_EXPORT int agentd_test_another(void) { return 1; }
#endif

AGENTD_EXPORT agentd_status AGENTD_CALL agentd_hook_entry_v1(agentd_negotiate* io) {
  static const char other[] = "this hook is built for another hook ABI";
  io->magic = AGENTD_MAGIC;
  io->abi = AGENTD_ABI;
#if BREAKS != 205
  if (io->host_abi_max >> 16 != AGENTD_ABI_MAJOR) {
    io->error.ptr = other;
    io->error.len = sizeof other - 1;
    return AGENTD_E_UNSUPPORTED;
  }
#else
  (void)other;
#endif
#if BREAKS == 204
  if (io->flags & AGENTD_NEGOTIATE_SCAN_ONLY) (void)open("/dev/null", O_RDONLY | O_CLOEXEC);
#endif
  io->plugin = &plugin;
#if BREAKS == 203
  copies[copy] = plugin;
  io->plugin = &copies[copy];
  copy ^= 1u;
#endif
  return AGENTD_OK;
}
