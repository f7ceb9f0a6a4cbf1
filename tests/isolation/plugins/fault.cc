// SPDX-License-Identifier: Apache-2.0
// fault.cc - a hook that does one of the things that end or block a process, in the phase that its config names.
//
// Built once for each fault with FAULT set, and once more with FAULT_AT_LOAD, where it happens before anybody
// asks. In the phase "hook" it happens when the tool `fault` is called. Otherwise it blocks the tool bash.
#include <agentd/hook_abi.h>

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string_view>

#define FAULT_SIGSEGV 1
#define FAULT_ABORT 2
#define FAULT_EXIT 3
#define FAULT_THROW 4
#define FAULT_STACK 5
#define FAULT_DOUBLE_FREE 6
#define FAULT_SPIN 7
#define FAULT_DEADLOCK 8
#define FAULT_SLEEP 9
#define FAULT_LEAK 10
#define FAULT_HUGE_ANSWER 11
#define FAULT_GARBAGE_FRAMES 12
#define FAULT_CLOSED_DESCRIPTORS 13
#define FAULT_BLOCKED_SIGNALS 14
#define FAULT_WRITES_PAYLOAD 15
#define FAULT_SCRIBBLES 16
#define FAULT_FORGED_TOKENS 17
#define FAULT_LEAK_SHARED 18

namespace {

// What the compiler cannot see through, so that it does not mend the fault.
template <typename T>
[[gnu::noinline]] T opaque(T value) {
  static volatile int sink = 0;
  sink = sink + 1;
  return value;
}

// The memory that the host reads answers from; nullptr outside of a worker.
char* answer_memory(std::size_t* bytes) {
  FILE* const maps = std::fopen("/proc/self/maps", "r");
  if (maps == nullptr) return nullptr;
  char line[512];
  char* found = nullptr;
  while (found == nullptr && std::fgets(line, sizeof line, maps) != nullptr) {
    unsigned long from = 0, to = 0;
    char mode[5] = "";
    if (std::sscanf(line, "%lx-%lx %4s", &from, &to, mode) != 3) continue;
    if (std::strcmp(mode, "rw-s") != 0) continue;
    found = reinterpret_cast<char*>(from);
    *bytes = to - from;
  }
  std::fclose(maps);
  return found;
}

void fill_with_garbage(unsigned seed) {
  std::size_t bytes = 0;
  char* const memory = answer_memory(&bytes);
  if (memory == nullptr) return;
  for (std::size_t i = 0; i + 4 <= bytes && i < 64 * 1024; i += 4) {
    seed = seed * 1664525u + 1013904223u;
    std::memcpy(memory + i, &seed, 4);
  }
}

// For ever, while the host reads what is there.
void* scribble(void*) {
  std::size_t bytes = 0;
  char* const memory = answer_memory(&bytes);
  if (memory == nullptr) return nullptr;
  unsigned seed = static_cast<unsigned>(::getpid());
  for (;;) {
    seed = seed * 1664525u + 1013904223u;
    // Past the words whose turn it is: what a message says, and its body.
    memory[64 + seed % (bytes < 65536 ? bytes - 64 : 65536)] = static_cast<char>(seed >> 24);
  }
}

[[gnu::noinline]] int recurse(int depth) {
  volatile char frame[4096];
  frame[0] = static_cast<char>(depth);
  return recurse(depth + 1) + frame[0];
}

void block_everything() {
  sigset_t all;
  sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  ::signal(SIGTERM, SIG_IGN);
  for (;;) ::pause();
}

void leak() {
  for (;;) {
    auto* const memory = static_cast<char*>(opaque(std::malloc(16u << 20)));
    *static_cast<volatile char*>(memory) = 1;  // dies here once there is no more
  }
}

// What no limit of allocated memory counts.
void leak_shared() {
  for (;;) {
    void* const memory = ::mmap(nullptr, 64u << 20, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    *static_cast<volatile char*>(opaque(memory == MAP_FAILED ? nullptr : memory)) = 1;
  }
}

[[noreturn]] void hang_in_lock() {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&mutex);
  pthread_mutex_lock(&mutex);
  std::abort();
}

// A text of 2 GiB that takes no memory.
void answer_2_gib(const agentd_call* call) {
  if (call == nullptr) return;
  constexpr std::size_t kBytes = std::size_t{2} << 30;
  void* const text = ::mmap(nullptr, kBytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (text == MAP_FAILED) return;
  agentd_act_text action{};
  action.h = {sizeof action, AGENTD_ACT_BLOCK, 0};
  action.text = {static_cast<const char*>(text), kBytes};
  (void)call->core->emit(call->core, call->token, &action.h);
  ::munmap(text, kBytes);
}

// Answers into calls that are not ours.
void forge_tokens(const agentd_call* call) {
  if (call == nullptr) return;
  agentd_act_text action{};
  action.h = {sizeof action, AGENTD_ACT_BLOCK, 0};
  action.text = {"forged", 6};
  for (std::uint64_t generation = 0; generation < 16; ++generation)
    for (std::uint64_t index = 1; index < 4; ++index) {
      const agentd_token token = generation << 24 | index;
      if (token == call->token) continue;
      (void)call->core->emit(call->core, token, &action.h);
      (void)call->core->complete(call->core, token, AGENTD_E_INTERNAL);
      call->core->fail(call->core, token, AGENTD_E_INTERNAL, {"forged", 6});
      call->core->scope_close(call->core, token);
    }
}

void free_twice() {
  void* const memory = opaque(std::malloc(64));
  std::free(opaque(memory));
  std::free(opaque(memory));
}

void close_descriptors() {
  for (int fd = 0; fd <= 100; ++fd) ::close(fd);
}

void write_payload(const agentd_call* call) {
  if (call == nullptr) return;
  const void* const at = call->payload != nullptr ? call->payload : &call->live->cancel;
  *static_cast<volatile char*>(const_cast<void*>(at)) = 1;
}

void start_scribbling() {
  pthread_t thread;
  if (pthread_create(&thread, nullptr, scribble, nullptr) == 0) pthread_detach(thread);
}

void misbehave(const agentd_call* call) {
  switch (FAULT) {
    case FAULT_SIGSEGV:
      *opaque(reinterpret_cast<volatile int*>(8)) = 1;
      return;
    case FAULT_ABORT:
      std::abort();
    case FAULT_EXIT:
      ::_exit(0);
    case FAULT_THROW:
      throw std::runtime_error("thrown across the border");
    case FAULT_STACK:
      opaque(recurse(0));
      return;
    case FAULT_DOUBLE_FREE:
      free_twice();
      return;
    case FAULT_SPIN:
      for (std::atomic<unsigned> turns{0};;) turns.fetch_add(1, std::memory_order_relaxed);
    case FAULT_DEADLOCK:
      hang_in_lock();
    case FAULT_SLEEP:
      for (;;) ::sleep(1000);
    case FAULT_LEAK:
      leak();
      return;
    case FAULT_LEAK_SHARED:
      leak_shared();
      return;
    case FAULT_HUGE_ANSWER:
      answer_2_gib(call);
      return;
    case FAULT_GARBAGE_FRAMES:
      fill_with_garbage(static_cast<unsigned>(::getpid()));
      return;
    case FAULT_CLOSED_DESCRIPTORS:
      close_descriptors();
      return;
    case FAULT_BLOCKED_SIGNALS:
      block_everything();
      return;
    case FAULT_WRITES_PAYLOAD:
      write_payload(call);
      return;
    case FAULT_SCRIBBLES:
      start_scribbling();
      return;
    case FAULT_FORGED_TOKENS:
      forge_tokens(call);
      return;
  }
}

#ifdef FAULT_AT_LOAD
[[gnu::constructor]] void at_load() { misbehave(nullptr); }
#endif

struct Phases {
  bool create, hook, destroy;
};
Phases phases{};

bool says(const agentd_str& text, std::string_view what) {
  return std::string_view(text.ptr == nullptr ? "" : text.ptr, text.len).find(what) != std::string_view::npos;
}

// The faults that throw do so through these, which C++ would end the process for if they were noexcept.
agentd_status create(const agentd_call* call, void** self) {
  const auto* const info = static_cast<const agentd_create_info*>(call->payload);
  phases = {says(info->config_json, "\"create\""), says(info->config_json, "\"hook\""),
            says(info->config_json, "\"destroy\"")};
  *self = &phases;
  if (phases.create) misbehave(call);
  return AGENTD_OK;
}

agentd_status destroy(void*, const agentd_call* call) {
  if (phases.destroy) misbehave(call);
  return AGENTD_OK;
}

agentd_status before_tool_call(void*, const agentd_call* call) {
  const auto* const tool = static_cast<const agentd_tool_call*>(call->payload);
  const std::string_view name(tool->name.ptr, tool->name.len);
  if (phases.hook && name == "fault") misbehave(call);
  if (name != "bash") return AGENTD_OK;
  agentd_act_text action{};
  action.h = {sizeof action, AGENTD_ACT_BLOCK, 0};
  action.text = {"no shell here", 13};
  return call->core->emit(call->core, call->token, &action.h);
}

const agentd_hook rows[] = {{AGENTD_EVENT_BEFORE_TOOL_CALL, 0, 0, reinterpret_cast<agentd_fn>(before_tool_call), 0}};
const agentd_plugin plugin = {sizeof(agentd_plugin),
                              AGENTD_SERIAL,
                              {"org.agentd.test.fault", 21},
                              {"1.0.0", 5},
                              reinterpret_cast<decltype(agentd_plugin::create)>(create),
                              reinterpret_cast<agentd_fn>(destroy),
                              nullptr,
                              nullptr,
                              {rows, 1, sizeof(agentd_hook)}};

}  // namespace

AGENTD_MANIFEST(R"({"id":"org.agentd.test.fault","version":"1.0.0","abi":"1.0"})");

agentd_status AGENTD_CALL agentd_hook_entry_v1(agentd_negotiate* io) AGENTD_NOEXCEPT {
  io->magic = AGENTD_MAGIC;
  io->abi = AGENTD_ABI;
  io->plugin = &plugin;
  return AGENTD_OK;
}
