// SPDX-License-Identifier: Apache-2.0
// moods.cc - a hook that does what the name of the tool says: answers, crashes, hangs, answers
// later, asks for services. Built serial, and once more as CONCURRENT with MOODS_CONCURRENT.
#include <agentd/ext/field.h>
#include <agentd/ext/json.h>
#include <agentd/ext/tools.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>

extern char** environ;

namespace {

struct Instance {
  const agentd_core* core = nullptr;
  const agentd_json* json = nullptr;
  const agentd_field* field = nullptr;
  std::uint32_t name_key = 0;
  std::uint32_t isolation = 0;
  std::atomic<int> calls{0};
  std::atomic<int> inside{0};
  bool waits_at_end = false;
  bool crash_at_end = false, hang_at_end = false;
};

// Of the process.
std::atomic<bool> saves_after_end{false};
std::atomic<bool> has_ended{false};

agentd_str text(std::string_view from) { return {from.data(), from.size()}; }
std::string_view view(const agentd_str& from) {
  return from.ptr == nullptr ? "" : std::string_view(from.ptr, from.len);
}

agentd_status emit_text(const agentd_core* core, agentd_token token, std::uint16_t kind, std::string_view what) {
  agentd_act_text action{};
  action.h = {sizeof action, kind, 0};
  action.text = text(what);
  return core->emit(core, token, &action.h);
}

agentd_status block(const agentd_call* call, std::string_view why) {
  return emit_text(call->core, call->token, AGENTD_ACT_BLOCK, why);
}

agentd_status fail(const agentd_call* call, agentd_status status, std::string_view why) {
  call->core->fail(call->core, call->token, status, text(why));
  return status;
}

std::uint32_t cancel_of(const agentd_live* live) { return __atomic_load_n(&live->cancel, __ATOMIC_ACQUIRE); }

[[noreturn]] void crash() {
  ::raise(SIGSEGV);
  std::abort();
}

void nap(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

std::string open_descriptors() {
  std::string out;
  for (int fd = 0; fd < 256; ++fd)
    if (::fcntl(fd, F_GETFD) >= 0) out += (out.empty() ? "" : " ") + std::to_string(fd);
  return out;
}

std::string environment() {
  std::string out;
  for (char** entry = environ; *entry != nullptr; ++entry) out += std::string(*entry) + "\n";
  return out;
}

// A process that nothing ties to this one: its parents are gone, its session is its own, its
// descriptors and its environment are empty. Its number, or the name of what failed.
std::string start_daemon(bool executes) {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) return ::strerrorname_np(errno);
  const pid_t parent = ::fork();
  if (parent < 0) return ::strerrorname_np(errno);
  if (parent == 0) {
    ::setsid();
    if (::fork() != 0) ::_exit(0);
    ::setsid();
    const pid_t own = ::getpid();
    if (::write(ends[1], &own, sizeof own) != sizeof own) ::_exit(1);
    ::close_range(0, ~0u, 0);
    char program[] = "/bin/sleep", time[] = "600";
    char* argv[] = {program, time, nullptr};
    char* nothing[] = {nullptr};
    if (executes) ::execve(program, argv, nothing);
    for (;;) ::pause();
  }
  ::close(ends[1]);
  pid_t daemon = 0;
  const bool told = ::read(ends[0], &daemon, sizeof daemon) == sizeof daemon;
  ::close(ends[0]);
  ::waitpid(parent, nullptr, 0);
  return told ? std::to_string(daemon) : "nobody";
}

agentd_status answer_later(const agentd_call* call, std::string_view how) {
  const agentd_core* const core = call->core;
  const agentd_token token = call->token;
  const agentd_live* const live = call->live;
  const std::string mood(how);
  std::thread([=] {
    nap(5);
    if (mood == "later crash") crash();
    if (mood == "later obey")
      while (cancel_of(live) == 0) nap(1);
    if (mood == "later") emit_text(core, token, AGENTD_ACT_BLOCK, "said later");
    if (mood != "later never") core->complete(core, token, mood == "later obey" ? AGENTD_E_CANCELLED : AGENTD_OK);
  }).detach();
  return AGENTD_PENDING;
}

agentd_status compact(const agentd_call* call) {
  const agentd_compactor* const compactor = call->services->compactor;
  agentd_compact_source source{};
  source.size = sizeof source;
  const agentd_compact_result* result = nullptr;
  return compactor->compact(compactor, call->token, &source, nullptr, &result);
}

// Another thread waits for the service: the call only waits for its end.
agentd_status compact_apart(const agentd_call* call) {
  std::thread([copy = *call] { (void)compact(&copy); }).detach();
  while (cancel_of(call->live) == 0) nap(1);
  return AGENTD_E_CANCELLED;
}

// Runs outside of every call: opens a scope and counts a text in it.
agentd_status from_a_scope(const agentd_call* call) {
  const agentd_core* const core = call->core;
  const agentd_compactor* const compactor = call->services->compactor;
  std::uint64_t count = 0;
  agentd_status opened = AGENTD_E_INTERNAL, counted = AGENTD_E_INTERNAL, stale = AGENTD_OK;
  std::thread([&] {
    agentd_token token = 0;
    const agentd_live* live = nullptr;
    opened = core->scope_open(core, 0, UINT64_MAX, &token, &live);
    counted = compactor->count_text(compactor, token, text(""), text("12345678"), &count);
    core->scope_close(core, token);
    stale = compactor->count_text(compactor, token, text(""), text("12345678"), &count);
  }).join();
  const std::string said = std::to_string(opened) + " " + std::to_string(counted) + " " + std::to_string(count) + " " +
                           std::to_string(stale);
  return block(call, said);
}

// Opens scopes until there are none, says how many there were, and keeps them while the call runs and afterwards.
agentd_status hoard_scopes(const agentd_call* call) {
  const agentd_core* const core = call->core;
  agentd_token token = 0;
  const agentd_live* live = nullptr;
  agentd_status opened = AGENTD_OK;
  int count = -1;
  for (; opened == AGENTD_OK; ++count) opened = core->scope_open(core, 0, UINT64_MAX, &token, &live);
  core->log(core, call->token, AGENTD_LEVEL_WARNING,
            text("opened " + std::to_string(count) + " scopes, then got " + std::to_string(opened)));
  while (cancel_of(call->live) == 0) nap(1);
  return AGENTD_E_CANCELLED;
}

agentd_status ask(Instance& self, const agentd_call* call, std::string_view mood) {
  agentd_str out{};
  if (mood == "json") {
    const agentd_status status = self.json->payload(self.json, call->token, &out);
    return status != AGENTD_OK ? status : block(call, view(out));
  }
  if (mood == "field") {
    const agentd_status status = self.field->get(self.field, call->token, self.name_key, &out);
    return status != AGENTD_OK ? status : block(call, view(out));
  }
  if (mood == "store") {
    const agentd_kv* found = nullptr;
    const agentd_status status = call->services->store->get(call->services->store, call->token, text("colour"), &found);
    return status != AGENTD_OK ? status : block(call, view(found->value));
  }
  if (mood == "no store") return block(call, call->services->store == nullptr ? "none" : "there is one");
  std::uint64_t count = 0;
  const agentd_status status = call->services->compactor->count_text(call->services->compactor, call->token, text(""),
                                                                     text(std::string(4000, 'x')), &count);
  return status != AGENTD_OK ? status : block(call, std::to_string(count));
}

// Answers when so many calls are inside at once.
agentd_status meet(Instance& self, const agentd_call* call, int wanted) {
  self.inside.fetch_add(1);
  while (self.inside.load() < wanted && cancel_of(call->live) == 0) nap(1);
  return cancel_of(call->live) == 0 ? block(call, "met") : AGENTD_E_CANCELLED;
}

// Threads of which only the kernel knows, each with a stack of its own: no library could count them.
std::string start_bare_threads(std::size_t count) {
  constexpr std::size_t kStackBytes = 16384;
  void* const stacks =
      ::mmap(nullptr, count * kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (stacks == MAP_FAILED) return "no memory";
  const auto sleep = [](void*) -> int {
    for (;;) ::syscall(SYS_pause);
  };
  std::size_t made = 0;
  while (made<count&& ::clone(sleep, static_cast<char*>(stacks) + (made + 1) * kStackBytes,
                              CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM,
                              nullptr)> 0)
    ++made;
  return std::to_string(made);
}

// Until it is told that it is too much: how often it was taken, and what it was told then.
std::string answer_much(const agentd_call* call, std::size_t bytes) {
  const std::string much(bytes, 'x');
  for (int taken = 0; taken < 1000; ++taken) {
    const agentd_status status = emit_text(call->core, call->token, AGENTD_ACT_SYSTEM_MESSAGE, much);
    if (status != AGENTD_OK) return std::to_string(taken) + " " + std::to_string(status);
  }
  return "all";
}

agentd_status AGENTD_CALL before_tool_call(void* raw, const agentd_call* call) noexcept {
  Instance& self = *static_cast<Instance*>(raw);
  self.calls.fetch_add(1);
  const auto* const payload = static_cast<const agentd_tool_call*>(call->payload);
  const std::string_view mood = view(payload->name);
  if (mood == "bash") return block(call, "no shell here");
  if (mood == "crash") crash();
  if (mood == "exit") ::_exit(0);
  if (mood == "hang")
    for (;;) ::pause();
  if (mood == "obey") {
    while (cancel_of(call->live) == 0) nap(1);
    return AGENTD_E_CANCELLED;
  }
  if (mood == "fail") return fail(call, AGENTD_E_IO, "the disk is full");
  if (mood.substr(0, 5) == "later") return answer_later(call, mood);
  if (mood == "scope") return from_a_scope(call);
  if (mood == "hoard scopes") return hoard_scopes(call);
  if (mood == "no handlers") return ::signal(SIGTERM, SIG_DFL), AGENTD_OK;
  if (mood == "compact") return compact(call);
  if (mood == "compact apart") return compact_apart(call);
  if (mood == "descriptors") return block(call, open_descriptors());
  if (mood == "environment") return block(call, environment());
  if (mood == "print") {
    std::fprintf(stderr, "to standard error\n");
    return ::write(1, "to standard output\n", 19) == 19 ? AGENTD_OK : AGENTD_E_IO;
  }
  if (mood == "flood") {
    for (int i = 0; i < 1000; ++i) std::fprintf(stderr, "line %d\n", i);
    return AGENTD_OK;
  }
  if (mood == "many threads") return block(call, start_bare_threads(700));
  if (mood == "some threads") return block(call, start_bare_threads(200));
  if (mood == "answer much") return block(call, answer_much(call, 16u << 20));
  if (mood == "daemon") return block(call, start_daemon(false));
  if (mood == "daemon exec") return block(call, start_daemon(true));
  if (mood == "calls") return block(call, std::to_string(self.calls.load()));
  if (mood == "pid") return block(call, std::to_string(::getpid()));
  if (mood == "isolation") return block(call, std::to_string(self.isolation));
  if (mood == "meet") return meet(self, call, 8);
  if (mood == "illegal") return emit_text(call->core, call->token, AGENTD_ACT_CONTINUE, "go on");
  if (mood == "input") return block(call, view(payload->input_json));
  if (mood == "json" || mood == "field" || mood == "store" || mood == "no store" || mood == "count")
    return ask(self, call, mood);
  return AGENTD_OK;
}

agentd_status AGENTD_CALL run_tool(void* raw, const agentd_call* call) noexcept {
  Instance& self = *static_cast<Instance*>(raw);
  const auto* const payload = static_cast<const agentd_tool_call*>(call->payload);
  if (payload->tool == 22) crash();
  self.calls.fetch_add(1);
  emit_text(call->core, call->token, AGENTD_ACT_TOOL_OUTPUT, "tag " + std::to_string(payload->tool) + " ");
  return emit_text(call->core, call->token, AGENTD_ACT_TOOL_OUTPUT, view(payload->input_json));
}

agentd_status add_tool(const agentd_tools* tools, const agentd_call* call, std::string_view name, std::uint64_t tag) {
  agentd_tool tool{};
  tool.size = sizeof tool;
  tool.name = text(name);
  tool.description = text("for the tests");
  tool.input_schema_json = text(R"({"type":"object"})");
  tool.fn = run_tool;
  tool.tag = tag;
  return tools->add(tools, call->token, &tool);
}

agentd_status AGENTD_CALL create(const agentd_call* call, void** out) noexcept {
  const auto* const info = static_cast<const agentd_create_info*>(call->payload);
  const std::string_view config = view(info->config_json);
  if (config.find("no_start") != std::string_view::npos) return fail(call, AGENTD_E_ARG, "not today");
  if (config.find("crash_at_start") != std::string_view::npos) crash();
  auto* const self = new Instance;
  const agentd_core* const core = self->core = call->core;
  self->isolation = info->isolation;
  self->waits_at_end = config.find("waits_at_end") != std::string_view::npos;
  self->crash_at_end = config.find("crash_at_end") != std::string_view::npos;
  self->hang_at_end = config.find("hang_at_end") != std::string_view::npos;
  saves_after_end.store(config.find("saves_after_end") != std::string_view::npos);
  self->json = static_cast<const agentd_json*>(core->query(core, text(AGENTD_JSON_ID), sizeof(agentd_json)));
  self->field = static_cast<const agentd_field*>(core->query(core, text(AGENTD_FIELD_ID), sizeof(agentd_field)));
  if (self->field != nullptr) self->name_key = self->field->key(self->field, text("tool.name"));
  const auto* const tools =
      static_cast<const agentd_tools*>(core->query(core, text(AGENTD_TOOLS_ID), sizeof(agentd_tools)));
  if (tools != nullptr) {
    add_tool(tools, call, "echo", 11);
    add_tool(tools, call, "boom", 22);
  }
  *out = self;
  return AGENTD_OK;
}

agentd_status AGENTD_CALL destroy(void* raw, const agentd_call* call) noexcept {
  if (static_cast<Instance*>(raw)->crash_at_end) crash();
  while (static_cast<Instance*>(raw)->hang_at_end) ::pause();
  if (static_cast<Instance*>(raw)->waits_at_end) {
    call->core->log(call->core, call->token, AGENTD_LEVEL_WARNING, text("waits at its end"));
    while (cancel_of(call->live) == 0) nap(1);
  }
  if (saves_after_end.load()) return has_ended.store(true), AGENTD_OK;
  call->core->log(call->core, call->token, AGENTD_LEVEL_WARNING, text("destroyed"));
  delete static_cast<Instance*>(raw);
  return AGENTD_OK;
}

// Still at work when destroy() has returned: adds a tool then, and says what became of it.
agentd_status save_after_end(const agentd_call* call) {
  const auto* const tools =
      static_cast<const agentd_tools*>(call->core->query(call->core, text(AGENTD_TOOLS_ID), sizeof(agentd_tools)));
  call->core->log(call->core, call->token, AGENTD_LEVEL_WARNING, text("saves its state"));
  while (!has_ended.load()) nap(1);
  nap(100);
  return emit_text(call->core, call->token, AGENTD_ACT_STATE, std::to_string(add_tool(tools, call, "late", 33)));
}

agentd_status AGENTD_CALL save_state(void* raw, const agentd_call* call) noexcept {
  if (saves_after_end.load()) return save_after_end(call);
  return emit_text(call->core, call->token, AGENTD_ACT_STATE,
                   std::to_string(static_cast<Instance*>(raw)->calls.load()));
}

agentd_status AGENTD_CALL load_state(void* raw, const agentd_call* call) noexcept {
  const auto* const info = static_cast<const agentd_create_info*>(call->payload);
  static_cast<Instance*>(raw)->calls.store(std::atoi(std::string(view(info->state)).c_str()));
  return AGENTD_OK;
}

constexpr agentd_hook kRows[] = {{AGENTD_EVENT_BEFORE_TOOL_CALL, 0, 5, before_tool_call, 0}};

#if defined(MOODS_CONCURRENT)
#define MOODS_CONCURRENCY AGENTD_CONCURRENT
#define MOODS_WORD "concurrent"
#else
#define MOODS_CONCURRENCY AGENTD_SERIAL
#define MOODS_WORD "serial"
#endif
#if defined(MOODS_APART)
#define MOODS_ISOLATION ",\"isolation\":\"process-per-conversation\""
#else
#define MOODS_ISOLATION ",\"isolation\":\"in-process\""
#endif
#if defined(MOODS_PROCESSES)
#define MOODS_CAPABILITIES ",\"capabilities\":[\"processes\"]"
#elif defined(MOODS_FILES)
#define MOODS_CAPABILITIES ",\"capabilities\":[\"files:read\"]"
#else
#define MOODS_CAPABILITIES ""
#endif
#if defined(MOODS_TOOLLESS)
#define MOODS_TOOLS
#else
#define MOODS_TOOLS "\"agentd.tools/1\","
#endif
#define MOODS_MANIFEST                                                                             \
  "{\"id\":\"test.moods\",\"version\":\"1.2.3\",\"abi\":\"1.0\",\"events\":[\"before_tool_call\"]" \
  ","                                                                                              \
  "\"concurrency\":\"" MOODS_WORD "\",\"wants\":[\"compactor\",\"store\"," MOODS_TOOLS             \
  "\"agentd.json/1\",\"agentd.field/1\"]" MOODS_ISOLATION MOODS_CAPABILITIES "}"

AGENTD_MANIFEST(MOODS_MANIFEST);

constexpr agentd_plugin kPlugin{sizeof(agentd_plugin),
                                MOODS_CONCURRENCY,
                                {"test.moods", 10},
                                {"1.2.3", 5},
                                create,
                                destroy,
                                save_state,
                                load_state,
                                {kRows, 1, sizeof(agentd_hook)}};

}  // namespace

AGENTD_EXPORT agentd_status AGENTD_CALL agentd_hook_entry_v1(agentd_negotiate* io) noexcept {
  io->magic = AGENTD_MAGIC;
  io->abi = AGENTD_ABI;
  io->plugin = &kPlugin;
  return AGENTD_OK;
}
