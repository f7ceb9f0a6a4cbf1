/* SPDX-License-Identifier: Apache-2.0 */
/* own_runtime: a hook that behaves as one in a language with a runtime of its own, such as Go: when
 * it is loaded it starts threads that never end, takes signals on a stack of its own, and keeps
 * descriptors to wait on. It works well in a worker process. */
#define _GNU_SOURCE 1
#include <agentd/hook_abi.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define TEXT(text) \
  { text, sizeof(text) - 1 }

AGENTD_MANIFEST(
    "{\"id\":\"test.own-runtime\",\"version\":\"1.0.0\",\"abi\":\"1.0\","
    "\"events\":[\"before_tool_call\"],\"concurrency\":\"serial\"}");

static char stack[64 * 1024];
static int poller = -1, waker = -1;

static void on_signal(int number) { (void)number; }

static void* run(void* main_thread) {
  sigset_t all;
  stack_t own = {stack, 0, sizeof stack};
  struct epoll_event event;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, NULL);
  if (main_thread != NULL) sigaltstack(&own, NULL);
  for (;;) epoll_wait(poller, &event, 1, -1);
  return NULL;
}

__attribute__((constructor)) static void begin(void) {
  const int numbers[] = {SIGURG, SIGPROF, SIGUSR1, SIGUSR2, SIGSEGV, SIGBUS, SIGFPE};
  struct epoll_event event = {EPOLLIN, {0}};
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = on_signal;
  action.sa_flags = SA_ONSTACK | SA_RESTART;
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; ++i) sigaction(numbers[i], &action, NULL);
  poller = epoll_create1(EPOLL_CLOEXEC);
  waker = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  epoll_ctl(poller, EPOLL_CTL_ADD, waker, &event);
  for (int i = 0; i < 4; ++i) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, run, i == 0 ? stack : NULL) == 0) pthread_detach(thread);
  }
}

static agentd_status AGENTD_CALL hook(void* self, const agentd_call* call) {
  agentd_act_text action = {{sizeof action, AGENTD_ACT_BLOCK, 0}, 0, 0, TEXT("own_runtime says no")};
  (void)self;
  return call->core->emit(call->core, call->token, &action.h);
}
static agentd_status AGENTD_CALL create(const agentd_call* call, void** self) {
  (void)call;
  *self = NULL;
  return AGENTD_OK;
}

static const agentd_hook rows[] = {{AGENTD_EVENT_BEFORE_TOOL_CALL, 0, 0, hook, 0}};
static const agentd_plugin plugin = {
    sizeof(agentd_plugin),    AGENTD_SERIAL, TEXT("test.own-runtime"), TEXT("1.0.0"), create, NULL, NULL, NULL,
    {rows, 1, sizeof rows[0]}};

AGENTD_EXPORT agentd_status AGENTD_CALL agentd_hook_entry_v1(agentd_negotiate* io) {
  static const char other[] = "this hook is built for another hook ABI";
  io->magic = AGENTD_MAGIC;
  io->abi = AGENTD_ABI;
  if (io->host_abi_max >> 16 != AGENTD_ABI_MAJOR) {
    io->error.ptr = other;
    io->error.len = sizeof other - 1;
    return AGENTD_E_UNSUPPORTED;
  }
  io->plugin = &plugin;
  return AGENTD_OK;
}
