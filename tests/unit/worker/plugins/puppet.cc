// SPDX-License-Identifier: Apache-2.0
// puppet.cc - a plugin that does what the user's message says, and answers with a SYSTEM_MESSAGE.
#include <agentd/ext/draft/process.h>
#include <agentd/ext/draft/workspace.h>
#include <agentd/ext/field.h>
#include <agentd/ext/json.h>
#include <agentd/ext/tasks.h>
#include <agentd/ext/tools.h>
#include <agentd/hook_abi.h>
#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tests/unit/worker/plugins/ways_out.h"

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

AGENTD_MANIFEST("{\"id\":\"org.agentd.test.puppet\",\"version\":\"1.2.3\",\"abi\":\"1.0\"}");

namespace {

using namespace ways_out;

// Made while the module is loaded, before anything of the hook is called.
const int socket_of_constructor = [] {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  return fd < 0 ? -errno : fd;
}();

struct Puppet {
  std::string config;
  agentd_token old_token = 0;
  std::thread thread;
  std::atomic<bool> task_ran{false}, task_ended{false};
  bool left_a_task = false;
};

agentd_str abi(std::string_view text) { return {text.data(), text.size()}; }
std::string str(const agentd_str& text) {
  return text.ptr == nullptr ? std::string("NULL") : std::string(text.ptr, text.len);
}

agentd_status say(const agentd_core* core, agentd_token token, const std::string& text) {
  const agentd_act_text act{{sizeof act, AGENTD_ACT_SYSTEM_MESSAGE, 0}, 0, 0, abi(text)};
  return core->emit(core, token, &act.h);
}


template <typename T>
const T* find(const agentd_call* call, const char* id) {
  return static_cast<const T*>(call->core->query(call->core, abi(id), sizeof(T)));
}

// ---- what a sandbox is about

std::string try_fork() {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  const std::string out = result(child);
  if (child > 0) ::waitpid(child, nullptr, 0);
  return out;
}

std::string end_of(pid_t child) {
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child) return result(-1);
  return WIFSIGNALED(status) ? "signal " + std::to_string(WTERMSIG(status)) : "status";
}

// How children end that send themselves that signal: a fork alone, and a program.
std::string signal_in_children(int number) {
  const pid_t fork = ::fork();
  if (fork == 0) {
    ::raise(number);
    ::_exit(0);
  }
  const std::string of_fork = end_of(fork);
  std::string script = "kill -" + std::to_string(number) + " $$; exit 0";
  char name[] = "/bin/sh", option[] = "-c";
  char* argv[] = {name, option, script.data(), nullptr};
  pid_t program = -1;
  errno = ::posix_spawn(&program, name, nullptr, nullptr, argv, nullptr);
  return of_fork + ", " + (errno != 0 ? result(-1) : end_of(program));
}

std::string try_spawn() {
  char name[] = "/bin/true";
  char* argv[] = {name, nullptr};
  pid_t child = -1;
  errno = ::posix_spawn(&child, name, nullptr, nullptr, argv, nullptr);
  if (errno != 0) return result(-1);
  int status = 0;
  ::waitpid(child, &status, 0);
  return status == 0 ? "ok" : "status " + std::to_string(status);
}

std::string try_connect() {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  if (fd < 0) return result(-1);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(1);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return ::connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0 ? "ok" : result(-1);
}

std::string write_to_closed_pipe() {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) return result(-1);
  ::close(ends[0]);
  const std::string out = result(::write(ends[1], "x", 1));
  ::close(ends[1]);
  return out;
}

std::string descriptors() {
  std::vector<std::string> found;
  DIR* const directory = ::opendir("/proc/self/fd");
  if (directory == nullptr) return result(-1);
  const std::string own = std::to_string(::dirfd(directory));
  while (const dirent* const entry = ::readdir(directory))
    if (entry->d_name[0] != '.' && entry->d_name != own) found.emplace_back(entry->d_name);
  ::closedir(directory);
  std::sort(found.begin(), found.end());
  std::string out;
  for (const std::string& each : found) out += (out.empty() ? "" : " ") + each;
  return out;
}

// Opens all that it can: the largest number, and why there was no more.
std::string many_descriptors() {
  std::vector<int> open;
  int last = -1;
  for (int fd = ::open("/dev/null", O_RDONLY); fd >= 0 && open.size() < 5'000;
       fd = ::open("/dev/null", O_RDONLY))
    open.push_back(last = fd);
  const std::string why = errno == EMFILE ? "EMFILE" : std::to_string(errno);
  for (const int fd : open) ::close(fd);
  return std::to_string(last) + " " + why;
}

std::string limits() {
  std::string out;
  for (const __rlimit_resource each : {RLIMIT_CORE, RLIMIT_NOFILE, RLIMIT_FSIZE, RLIMIT_DATA}) {
    rlimit now{};
    ::getrlimit(each, &now);
    out += now.rlim_max == RLIM_INFINITY ? "none " : std::to_string(now.rlim_max) + " ";
  }
  return out;
}

// ---- ways to take memory, in MiB

std::string take_shared(std::size_t mib) {
  void* const memory =
      ::mmap(nullptr, mib << 20, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | MAP_SHARED, -1, 0);
  if (memory == MAP_FAILED) return result(-1);
  for (std::size_t at = 0; at < mib; ++at) static_cast<volatile char*>(memory)[at << 20] = 1;
  return result(::munmap(memory, mib << 20));
}

// Pages that are made read-only once they are filled are not counted as data any more.
std::string take_sealed(std::size_t mib) {
  constexpr std::size_t kPiece = 8u << 20;
  std::vector<void*> pieces;
  std::string out = "ok";
  for (std::size_t taken = 0; taken < mib << 20 && out == "ok"; taken += kPiece) {
    void* const piece =
        ::mmap(nullptr, kPiece, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | MAP_PRIVATE, -1, 0);
    if (piece == MAP_FAILED) {
      out = ::strerrorname_np(errno);
      break;
    }
    *static_cast<volatile char*>(piece) = 1;
    pieces.push_back(piece);
    if (::mprotect(piece, kPiece, PROT_READ) != 0) out = ::strerrorname_np(errno);
  }
  for (void* const piece : pieces) ::munmap(piece, kPiece);
  return out;
}

// Threads that allocate at once, from arenas and stacks of their own; how many of them could.
std::string allocate_in_threads(int count) {
  std::vector<std::thread> threads;
  std::atomic<int> ready{0}, good{0};
  try {
    for (int i = 0; i < count; ++i)
      threads.emplace_back([&] {
        ++ready;
        while (ready < count) ::usleep(100);
        std::vector<void*> blocks;
        for (int block = 0; block < 256; ++block) blocks.push_back(std::malloc(16 * 1024));
        if (std::count(blocks.begin(), blocks.end(), nullptr) == 0) ++good;
        for (void* const block : blocks) {
          if (block != nullptr) std::memset(block, 1, 16 * 1024);
          std::free(block);
        }
      });
  } catch (const std::exception&) {
    ready = count;
  }
  for (std::thread& each : threads) each.join();
  return std::to_string(good.load());
}

std::string take_queue() {
  const int queue = ::msgget(IPC_PRIVATE, 0600);
  if (queue >= 0) ::msgctl(queue, IPC_RMID, nullptr);
  return result(queue);
}

std::string take_segment() {
  const int segment = ::shmget(IPC_PRIVATE, 1u << 20, 0600);
  if (segment >= 0) ::shmctl(segment, IPC_RMID, nullptr);
  return result(segment);
}

std::string take_semaphores() {
  const int set = ::semget(IPC_PRIVATE, 1, 0600);
  if (set >= 0) ::semctl(set, 0, IPC_RMID);
  return result(set);
}

std::string raise_limit() {
  rlimit more{};
  ::getrlimit(RLIMIT_NOFILE, &more);
  more.rlim_cur = more.rlim_max = 4096;
  return result(::setrlimit(RLIMIT_NOFILE, &more));
}

// A descriptor that tells of its events by a signal, to the process `pid`.
std::string try_owner(const std::string& how, pid_t pid) {
  int ends[2] = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return result(-1);
  f_owner_ex owner{F_OWNER_PID, pid};
  int number = pid, on = 1;
  std::string out = "?";
  if (how == "F_SETOWN") out = result(::fcntl(ends[0], F_SETOWN, pid));
  if (how == "F_SETOWN_EX") out = result(::fcntl(ends[0], F_SETOWN_EX, &owner));
  if (how == "F_SETSIG") out = result(::fcntl(ends[0], F_SETSIG, SIGWINCH));
  if (how == "FIOSETOWN") out = result(::ioctl(ends[0], FIOSETOWN, &number));
  if (how == "SIOCSPGRP") out = result(::ioctl(ends[0], SIOCSPGRP, &number));
  if (how == "FIOASYNC") out = result(::ioctl(ends[0], FIOASYNC, &on));
  ::close(ends[0]);
  ::close(ends[1]);
  return out;
}

// The last page of the memory that the host shares; nobody uses it in these tests.
std::string remove_shared_page() {
  std::FILE* const maps = std::fopen("/proc/self/maps", "r");
  char line[512], mode[5] = "";
  unsigned long from = 0, to = 0;
  bool found = false;
  while (maps != nullptr && !found && std::fgets(line, sizeof line, maps) != nullptr)
    found = std::sscanf(line, "%lx-%lx %4s", &from, &to, mode) == 3 &&
            std::string_view(mode) == "rw-s";
  if (maps != nullptr) std::fclose(maps);
  if (!found) return "no memory is shared";
  return result(::madvise(reinterpret_cast<void*>(to - 4096), 4096, MADV_REMOVE));
}

// Sets a priority of the process `pid` (0 = its own) to what it is, or to what is usual.
std::string try_priority(const std::string& way, pid_t pid) {
  const auto who = static_cast<id_t>(pid);
  constexpr long kOfProcess = 1, kBestEffort = (2L << 13) | 4;  // linux/ioprio.h
  sched_param parameters{};
  cpu_set_t cpus;
  std::uint64_t attributes[8]{};
  (void)::sched_getparam(pid, &parameters);
  if (way == "setpriority")
    return result(::setpriority(PRIO_PROCESS, who, ::getpriority(PRIO_PROCESS, who)));
  if (way == "setpriority_group")
    return result(::setpriority(PRIO_PGRP, 0, ::getpriority(PRIO_PGRP, 0)));
  if (way == "setpriority_user")
    return result(::setpriority(PRIO_USER, 0, ::getpriority(PRIO_USER, 0)));
  if (way == "ioprio_set") return result(::syscall(SYS_ioprio_set, kOfProcess, pid, kBestEffort));
  if (way == "ioprio_set_group") return result(::syscall(SYS_ioprio_set, 2, 0, kBestEffort));
  if (way == "sched_setscheduler")
    return result(::sched_setscheduler(pid, ::sched_getscheduler(pid), &parameters));
  if (way == "sched_setparam") return result(::sched_setparam(pid, &parameters));
  if (way == "sched_setattr") {
    if (::syscall(SYS_sched_getattr, pid, attributes, sizeof attributes, 0) != 0)
      return "sched_getattr: " + result(-1);
    return result(::syscall(SYS_sched_setattr, pid, attributes, 0));
  }
  if (way != "sched_setaffinity") return "?";
  (void)::sched_getaffinity(pid, sizeof cpus, &cpus);
  return result(::sched_setaffinity(pid, sizeof cpus, &cpus));
}

std::string try_openat2(const std::string& path, unsigned flags) {
  open_how how{};
  how.flags = flags;
  return result(::syscall(SYS_openat2, AT_FDCWD, path.c_str(), &how, sizeof how));
}

std::string change_through_descriptor(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return result(-1);
  const std::string mode = result(::fchmod(fd, 0640));
  const std::string out = mode + " " + result(::fchown(fd, ::getuid(), ::getgid()));
  ::close(fd);
  return out;
}

std::string try_owner_of_file(const std::string& path) {
  return result(::chown(path.c_str(), ::getuid(), ::getgid())) + " " +
         result(::lchown(path.c_str(), ::getuid(), ::getgid())) + " " +
         result(::fchownat(AT_FDCWD, path.c_str(), ::getuid(), ::getgid(), 0));
}

std::string lower_limit(__rlimit_resource which) {
  const rlimit less{1000, 1000};
  return result(::syscall(SYS_prlimit64, 0, which, &less, nullptr));
}

std::string do_system_call(const std::string& what, const std::string& argument) {
  const auto pid = static_cast<pid_t>(std::atoi(argument.c_str()));
  if (what == "read") return try_open(argument, O_RDONLY | O_CLOEXEC);
  if (what == "write") return try_open(argument, O_WRONLY | O_CLOEXEC);
  if (what == "make") return try_open(argument, O_WRONLY | O_CREAT | O_CLOEXEC);
  if (what == "truncate") return result(::truncate(argument.c_str(), 0));
  if (what == "empty") return try_open(argument, O_RDONLY | O_TRUNC | O_CLOEXEC);
  if (what == "empty2") return try_openat2(argument, O_RDONLY | O_TRUNC | O_CLOEXEC);
  if (what == "creat") return result(::creat(argument.c_str(), 0600));
  if (what == "chown") return try_owner_of_file(argument);
  if (what == "change") return change_through_descriptor(argument);
  if (what == "owner") return try_owner(argument, ::getppid());
  if (what == "priority_of_host") return try_priority(argument, ::getppid());
  if (what == "own_priority") return try_priority(argument, 0);
  if (what == "remove_page") return remove_shared_page();
  if (what == "remove") return result(::unlink(argument.c_str()));
  if (what == "mkdir") return result(::mkdir(argument.c_str(), 0700));
  if (what == "chmod") return result(::chmod(argument.c_str(), 0777));
  if (what == "list") return try_open(argument, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (what == "socket") return result(::socket(AF_INET, SOCK_STREAM, 0));
  if (what == "unix") return result(::socket(AF_UNIX, SOCK_STREAM, 0));
  if (what == "connect") return try_connect();
  if (what == "constructor")
    return socket_of_constructor < 0 ? ::strerrorname_np(-socket_of_constructor) : "ok";
  if (what == "fork") return try_fork();
  if (what == "signal_in_children") return signal_in_children(std::stoi(argument));
  if (what == "spawn") return try_spawn();
  if (what == "exec") return result(::execl("/bin/true", "true", nullptr));
  if (what == "ptrace") return result(::ptrace(PTRACE_SEIZE, pid, nullptr, nullptr));
  if (what == "kill") return result(::kill(pid, 0));
  if (what == "kill_all") return result(::kill(-1, 0));
  if (what == "kill_self") return result(::kill(::getpid(), 0));
  if (what == "pipe") return write_to_closed_pipe();
  if (what == "limits") return limits();
  if (what == "shared") return take_shared(std::stoul(argument));
  if (what == "sealed") return take_sealed(std::stoul(argument));
  if (what == "threads") return allocate_in_threads(std::stoi(argument));
  if (what == "memory_file") return result(::memfd_create("puppet", MFD_CLOEXEC));
  if (what == "segment") return take_segment();
  if (what == "queue") return take_queue();
  if (what == "semaphores") return take_semaphores();
  if (what == "raise_limit") return raise_limit();
  if (what == "unbrand") return lower_limit(RLIMIT_RTTIME);
  if (what == "outlive") return result(::prctl(PR_SET_PDEATHSIG, 0));
  if (what == "unshare") return result(::unshare(CLONE_NEWUSER));
  if (what == "io_uring") return result(::syscall(SYS_io_uring_setup, 1, nullptr));
  if (what == "datagram") return send_datagram(argument);
  if (what == "stream_pair") return use_stream_pair();
  if (what == "privileges") return privileges();
  if (what == "real_time") return become_real_time();
  if (what == "fanotify") return mark_for_permission();
  if (what == "read_window") return read_window(std::stoul(argument));
  if (what == "open_mapping") return open_window_again();
  if (what == "window_descriptor") return try_open("/proc/self/fd/4", O_RDWR | O_CLOEXEC);
  if (what == "larger_pipe") return take_larger_pipe();
  if (what == "larger_buffer") return take_larger_buffer();
  if (what == "splice_memory") return splice_memory();
  if (what == "fill_pairs") return fill_pairs();
  if (what == "many_descriptors") return many_descriptors();
  if (what == "clone3") return result(::syscall(SYS_clone3, nullptr, 0));
  if (what == "descriptors") return descriptors();
  if (what == "dumpable") return std::to_string(::prctl(PR_GET_DUMPABLE));
  if (what == "new_privs") return std::to_string(::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0));
  if (what == "umask") return std::to_string(::umask(0));
  return "";
}

// ---- ways to end

void end_process(const std::string& how) {
  if (how == "abort") std::abort();
  if (how == "exit") ::_exit(3);
  if (how == "segv") ::raise(SIGSEGV);
  if (how == "throw") throw std::runtime_error("over the border");
  if (how == "throw_int") throw 42;
  if (how == "spin")
    for (;;) ::pause();
}

// ---- services

std::string try_arena(const agentd_call* call) {
  const agentd_core* const core = call->core;
  auto* const memory = static_cast<char*>(core->arena(core, call->token, 100'000, 64));
  if (memory == nullptr) return "no memory";
  std::memset(memory, 'x', 100'000);
  const bool aligned = reinterpret_cast<std::uintptr_t>(memory) % 64 == 0;
  const bool refuses = core->arena(core, call->token, 8, 3) == nullptr &&
                       core->arena(core, call->token, 8, 128) == nullptr &&
                       core->arena(core, call->token, SIZE_MAX, 8) == nullptr &&
                       core->arena(core, call->token + 1, 8, 8) == nullptr;
  const bool small = core->arena(core, call->token, 0, 1) != nullptr;
  return std::string(aligned ? "aligned " : "") + (refuses ? "refuses " : "") +
         (small ? "small" : "");
}

std::string emit_all(const agentd_call* call) {
  const agentd_core* const core = call->core;
  const auto emit = [&](const agentd_action& action) {
    (void)core->emit(core, call->token, &action);
  };
  constexpr std::uint16_t kKinds[] = {AGENTD_ACT_BLOCK,          AGENTD_ACT_CONTINUE,
                                      AGENTD_ACT_SUMMARY,        AGENTD_ACT_REPLACE_TEXT,
                                      AGENTD_ACT_INJECT_CONTEXT, AGENTD_ACT_STATE};
  for (const std::uint16_t kind : kKinds) {
    const agentd_act_text act{{sizeof act, kind, 0}, 0, 0, abi("text")};
    emit(act.h);
  }
  const agentd_act_compact compact{
      {sizeof compact, AGENTD_ACT_COMPACT, 0}, 0, 0, 9, abi("m"), abi("how")};
  emit(compact.h);
  const agentd_act_set set{{sizeof set, AGENTD_ACT_SET, 0}, AGENTD_KEY_TITLE, 0, 1, abi("title")};
  emit(set.h);
  const agentd_act_permission may{
      {sizeof may, AGENTD_ACT_PERMISSION, 0}, AGENTD_PERMISSION_DENY, 0, abi("why")};
  emit(may.h);
  const agentd_act_recipe recipe{{sizeof recipe, AGENTD_ACT_CALLBACK, 0}, abi("recipe"), abi("{}")};
  emit(recipe.h);
  agentd_block block{};
  block.size = sizeof block;
  block.kind = AGENTD_BLOCK_TEXT;
  block.text = abi("literal");
  agentd_message message{};
  message.size = sizeof message;
  message.role = AGENTD_ROLE_USER;
  message.blocks = {&block, 1, sizeof block};
  const agentd_part parts[] = {{sizeof parts[0], AGENTD_PART_KEEP, 1, 2, nullptr},
                               {sizeof parts[0], AGENTD_PART_LITERAL, 0, 0, &message}};
  const agentd_act_replace replace{
      {sizeof replace, AGENTD_ACT_REPLACE_MESSAGES, 0}, 3, {parts, 2, sizeof parts[0]}};
  emit(replace.h);
  return "";
}

std::string wrong_emits(const agentd_call* call) {
  const agentd_core* const core = call->core;
  const agentd_act_text lies{{sizeof lies, AGENTD_ACT_BLOCK, 0}, 0, 0, {nullptr, 9}};
  const std::string huge(65u << 20, 'x');
  const agentd_act_text big{{sizeof big, AGENTD_ACT_BLOCK, 0}, 0, 0, abi(huge)};
  const agentd_act_text fine{{sizeof fine, AGENTD_ACT_BLOCK, 0}, 0, 0, abi("x")};
  std::string out = std::to_string(core->emit(core, call->token, nullptr));
  out += " " + std::to_string(core->emit(core, call->token, &lies.h));
  out += " " + std::to_string(core->emit(core, call->token, &big.h));
  out += " " + std::to_string(core->emit(core, call->token + (1u << 24), &fine.h));
  return out;
}

std::string all_services(const agentd_call* call) {
  const agentd_services& have = *call->services;
  std::string out;
  // The text is made after the call.
  const auto add = [&](agentd_status status, const std::function<std::string()>& text) {
    out += std::to_string(status) + "=" + text() + ";";
  };
  const auto nothing = [] { return std::string(); };
  std::uint64_t number = 0, next = 0;
  std::uint32_t more = 0;
  agentd_str text{nullptr, 0};
  agentd_list list{nullptr, 0, 0};
  agentd_message message{};
  message.size = sizeof message;
  message.role = AGENTD_ROLE_USER;
  agentd_compact_options options{};
  options.size = sizeof options;
  options.instructions = abi("please");
  const agentd_token token = call->token;
  if (const agentd_compactor* const me = have.compactor) {
    add(me->count_text(me, token, abi("m"), abi("abc"), &number),
        [&] { return std::to_string(number); });
    add(me->count_messages(me, token, abi("m"), {&message, 1, sizeof message}, &number),
        [&] { return std::to_string(number); });
    add(me->prompt(me, token, &options, &text), [&] { return str(text); });
    agentd_compact_source source{};
    source.size = sizeof source;
    source.messages = {&message, 1, sizeof message};
    const agentd_compact_result* result = nullptr;
    const agentd_status status = me->compact(me, token, &source, &options, &result);
    add(status, [&] {
      return std::string(result == nullptr
                             ? std::string()
                             : str(result->summary) + std::to_string(result->usage->input));
    });
    add(me->request(me, token, abi("01C"), nullptr), nothing);
  }
  if (const agentd_thread_factory* const me = have.threads) {
    agentd_thread_options wanted{};
    wanted.size = sizeof wanted;
    wanted.system = abi("sys");
    agentd_thread thread = 0;
    add(me->open(me, token, &wanted, &thread), [&] { return std::to_string(thread); });
    const agentd_reply* reply = nullptr;
    const agentd_status status = me->send(me, token, thread, abi("hi"), &reply);
    add(status, [&] { return std::string(reply == nullptr ? std::string() : str(reply->text)); });
    const agentd_usage* usage = nullptr;
    const agentd_status used = me->usage(me, token, thread, &usage);
    add(used, [&] {
      return std::string(usage == nullptr ? std::string() : std::to_string(usage->output));
    });
    add(me->close(me, thread), nothing);
  }
  if (const agentd_store* const me = have.store) {
    const agentd_kv* kv = nullptr;
    const agentd_status got = me->get(me, token, abi("key"), &kv);
    add(got, [&] { return std::string(kv == nullptr ? std::string() : str(kv->value)); });
    add(me->scan(me, token, abi("k"), abi(""), 3, &list),
        [&] { return std::to_string(list.count); });
    agentd_kv_op op{};
    op.size = sizeof op;
    op.kind = AGENTD_KV_PUT;
    op.key = abi("key");
    op.value = abi("value");
    add(me->commit(me, token, {&op, 1, sizeof op}, &number),
        [&] { return std::to_string(number); });
    add(me->commit(me, token, {&op, 1, sizeof op}, nullptr), nothing);
    add(me->conversations(me, token, nullptr, &list), [&] { return std::to_string(list.count); });
    const agentd_status read =
        me->messages(me, token, abi("01C"), AGENTD_SCOPE_LOG, 5, 6, 7, &list);
    const auto* const first = static_cast<const agentd_message*>(list.first);
    add(read, [&] {
      return std::string(first == nullptr
                             ? std::string()
                             : str(static_cast<const agentd_block*>(first->blocks.first)->text));
    });
    add(me->read_blob(me, token, abi("b"), 1, 2, &text), [&] { return str(text); });
    add(me->changes(me, token, 4, 5, &list, &next), [&] { return std::to_string(next); });
  }
  if (const auto* const me = find<agentd_json>(call, AGENTD_JSON_ID)) {
    add(me->payload(me, token, &text), [&] { return str(text); });
    add(me->payload(me, token, &text), [&] { return str(text); });
  }
  if (const auto* const me = find<agentd_field>(call, AGENTD_FIELD_ID)) {
    const std::uint32_t key = me->key(me, abi("a.b"));
    add(me->get(me, token, key, &text),
        [&] { return str(text) + std::to_string(me->key(me, abi("a.b")) - key); });
    add(me->get(me, token, 99, &text), [&] { return std::to_string(me->key(me, abi(".a"))); });
  }
  if (const auto* const me = find<agentd_workspace>(call, AGENTD_WORKSPACE_ID)) {
    add(me->read(me, token, abi("f"), 1, 2, &text, &number),
        [&] { return str(text) + std::to_string(number); });
    add(me->write(me, token, abi("f"), abi("new")), nothing);
    add(me->replace(me, token, abi("f"), abi("old"), abi("new")), nothing);
    add(me->list(me, token, abi("."), 1, 2, &list, &more),
        [&] { return std::to_string(list.count) + std::to_string(more); });
  }
  if (const auto* const me = find<agentd_process>(call, AGENTD_PROCESS_ID)) {
    const agentd_str argv[] = {abi("ls"), abi("-l")};
    agentd_process_options run{};
    run.size = sizeof run;
    run.argv = {argv, 2, sizeof argv[0]};
    const agentd_process_result* result = nullptr;
    const agentd_status status = me->run(me, token, &run, &result);
    add(status, [&] {
      return std::string(result == nullptr
                             ? std::string()
                             : str(result->output) + std::to_string(result->exit_code));
    });
  }
  return out;
}

// Each of them wants a place for its answer, and a token that is one.
std::string wrong_services(const agentd_call* call) {
  const agentd_services& have = *call->services;
  const agentd_token token = call->token, stale = token + (1u << 24);
  std::string out;
  const auto add = [&](agentd_status status) { out += std::to_string(status) + " "; };
  std::uint64_t number = 0;
  agentd_list list{nullptr, 0, 0};
  add(have.compactor->count_text(have.compactor, token, abi(""), abi(""), nullptr));
  add(have.compactor->count_text(have.compactor, stale, abi(""), abi(""), &number));
  add(have.compactor->compact(have.compactor, token, nullptr, nullptr, nullptr));
  add(have.threads->open(have.threads, token, nullptr, nullptr));
  add(have.store->get(have.store, token, abi("k"), nullptr));
  add(have.store->changes(have.store, token, 0, 0, &list, nullptr));
  add(have.store->commit(have.store, token, {nullptr, 3, 48}, nullptr));
  const auto* const files = find<agentd_workspace>(call, AGENTD_WORKSPACE_ID);
  add(files->read(files, token, abi("f"), 0, 0, nullptr, nullptr));
  const auto* const json = find<agentd_json>(call, AGENTD_JSON_ID);
  add(json->payload(json, token, nullptr));
  const auto* const processes = find<agentd_process>(call, AGENTD_PROCESS_ID);
  add(processes->run(processes, token, nullptr, nullptr));
  return out;
}

// ---- tools

agentd_status AGENTD_CALL run_tool(void*, const agentd_call* call) AGENTD_NOEXCEPT {
  const auto* const input = static_cast<const agentd_tool_call*>(call->payload);
  for (const char* const piece : {"one", "two", "three"}) {
    const agentd_act_text act{{sizeof act, AGENTD_ACT_TOOL_OUTPUT, 0}, 0, 0, abi(piece)};
    call->core->emit(call->core, call->token, &act.h);
  }
  const std::string json = std::to_string(input->tool) + str(input->input_json);
  agentd_act_tool_result result{};
  result.h = {sizeof result, AGENTD_ACT_TOOL_RESULT, 0};
  result.structured_json = abi(json);
  return call->core->emit(call->core, call->token, &result.h);
}

std::string add_tools(const agentd_call* call) {
  const auto* const tools = find<agentd_tools>(call, AGENTD_TOOLS_ID);
  if (tools == nullptr) return "no tools";
  agentd_tool tool{};
  tool.size = sizeof tool;
  tool.flags = AGENTD_TOOL_READ_ONLY;
  tool.name = abi("echo");
  tool.title = abi("Echo");
  tool.description = abi("says it again");
  tool.input_schema_json = abi("{\"type\":\"object\"}");
  tool.timeout_ms = 1500;
  tool.fn = run_tool;
  tool.tag = 4711;
  std::string out = std::to_string(tools->add(tools, call->token, &tool));
  tool.name = abi("taken");
  out += " " + std::to_string(tools->add(tools, call->token, &tool));
  tool.fn = nullptr;
  out += " " + std::to_string(tools->add(tools, call->token, &tool));
  tool.size = 8;
  out += " " + std::to_string(tools->add(tools, call->token, &tool));
  out += " " + std::to_string(tools->remove(tools, call->token, abi("echo")));
  return out;
}

// ---- threads of its own

std::string use_scope(const agentd_call* call) {
  const agentd_core* const core = call->core;
  const agentd_compactor* const compactor = call->services->compactor;
  std::string out;
  std::thread([&] {
    agentd_token token = 0;
    const agentd_live* live = nullptr;
    out = std::to_string(core->scope_open(core, 77, 12345, &token, &live));
    out += " " + std::to_string(live->deadline_ns);
    std::uint64_t number = 0;
    const std::string text(700'000, 'x');  // several pieces
    out +=
        " " + std::to_string(compactor->count_text(compactor, token, abi("m"), abi(text), &number));
    out += " " + std::to_string(number);
    out += " " + std::to_string(say(core, token, "nobody listens"));
    out += core->arena(core, token, 16, 8) != nullptr ? " memory" : " none";
    core->scope_close(core, token);
    out += core->arena(core, token, 16, 8) != nullptr ? " memory" : " none";
    core->scope_close(core, token);
    out += " " + std::to_string(core->scope_open(core, 0, 0, nullptr, nullptr));
  }).join();
  return out;
}

// Inside of the call, with a token that is not its own.
std::string use_scope_inside(const agentd_call* call) {
  const agentd_core* const core = call->core;
  const agentd_compactor* const compactor = call->services->compactor;
  agentd_token token = 0;
  std::uint64_t number = 0;
  std::string out = std::to_string(core->scope_open(core, 77, 1, &token, nullptr));
  out += " " + std::to_string(compactor->count_text(compactor, token, abi(""), abi("ab"), &number));
  core->scope_close(core, token);
  return out;
}

// Answers later, from another thread; `early` before the function of the hook has returned.
agentd_status pend(Puppet& self, const agentd_call* call, bool early) {
  const agentd_core* const core = call->core;
  const agentd_token token = call->token;
  if (self.thread.joinable()) self.thread.join();
  self.thread = std::thread([core, token, early] {
    auto* const memory = static_cast<char*>(core->arena(core, token, 6, 1));
    std::memcpy(memory, "later", 6);
    say(core, token, memory);
    const agentd_status status = core->complete(core, token, AGENTD_OK);
    // The token ends when it is completed and its function has returned.
    while (!early && core->arena(core, token, 8, 8) != nullptr) ::usleep(1000);
    const std::string text =
        std::to_string(status) + " " + std::to_string(core->complete(core, token, AGENTD_OK));
    core->log(core, 0, AGENTD_LEVEL_INFO,
              abi(text + (core->arena(core, token, 8, 8) == nullptr ? " none" : " memory")));
  });
  if (early) self.thread.join();
  return AGENTD_PENDING;
}

// Services from more threads than there are lanes.
std::string crowd(const agentd_call* call) {
  const agentd_core* const core = call->core;
  const agentd_compactor* const compactor = call->services->compactor;
  std::atomic<int> good{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 12; ++i)
    threads.emplace_back([&] {
      for (int round = 0; round < 20; ++round) {
        std::uint64_t number = 0;
        if (compactor->count_text(compactor, call->token, abi(""), abi("abc"), &number) ==
                AGENTD_OK &&
            number == 3)
          ++good;
      }
    });
  for (std::thread& each : threads) each.join();
  (void)core;
  return std::to_string(good.load());
}

void AGENTD_CALL task(void* context, const agentd_live* live) AGENTD_NOEXCEPT {
  auto* const self = static_cast<Puppet*>(context);
  self->task_ran = true;
  while (__atomic_load_n(&live->cancel, __ATOMIC_ACQUIRE) == 0) ::usleep(1000);
  self->task_ended = true;
}

std::string start_task(Puppet& self, const agentd_call* call) {
  const auto* const tasks = find<agentd_tasks>(call, AGENTD_TASKS_ID);
  if (tasks == nullptr) return "no tasks";
  std::uint64_t number = 0;
  const agentd_status status = tasks->start(tasks, abi("waits"), task, &self, &number);
  while (status == AGENTD_OK && !self.task_ran) ::usleep(1000);
  self.left_a_task = true;
  return std::to_string(status);
}

std::string core_facts(const agentd_call* call) {
  const agentd_core* const core = call->core;
  core->log(core, call->token, 99, abi("a line"));
  core->log(core, 0, AGENTD_LEVEL_INFO, {nullptr, 7});
  core->fail(core, call->token, AGENTD_E_IO, abi("a reason"));
  const std::uint64_t before = core->now_ns(core);
  std::string out = std::to_string(core->event_id(core, abi("agent_stop"))) + " " +
                    std::to_string(core->event_id(core, abi("nothing"))) + " ";
  out += core->query(core, abi("agentd.json/1"), 4096) == nullptr ? "null " : "table ";
  out += core->query(core, abi("org.example/1"), 0) == nullptr ? "null " : "table ";
  out += before != 0 && core->now_ns(core) >= before ? "time " : "no time ";
  out += std::to_string(core->host_minor) + " " + std::to_string(core->size);
  return out;
}

#if defined(__SSE__)
std::string arithmetic() {
  const unsigned now = _mm_getcsr();
  _mm_setcsr(now | 0x8040);
  return (now & 0x8040) == 0 ? "ordinary" : "fast";
}
#else
std::string arithmetic() { return "ordinary"; }
#endif

agentd_status run(Puppet& self, const agentd_call* call) {
  const auto* const message = static_cast<const agentd_user_message*>(call->payload);
  const std::string text = str(message->text);
  const std::size_t space = text.find(' ');
  const std::string command = text.substr(0, space);
  const std::string argument = space == std::string::npos ? "" : text.substr(space + 1);
  const std::map<std::string, std::function<std::string()>> commands{
      {"emit_all", [&] { return emit_all(call); }},
      {"wrong_emits", [&] { return wrong_emits(call); }},
      {"services", [&] { return all_services(call); }},
      {"wrong_services", [&] { return wrong_services(call); }},
      {"tools", [&] { return add_tools(call); }},
      {"arena", [&] { return try_arena(call); }},
      {"scope", [&] { return use_scope(call); }},
      {"scope_inside", [&] { return use_scope_inside(call); }},
      {"crowd", [&] { return crowd(call); }},
      {"task", [&] { return start_task(self, call); }},
      {"core", [&] { return core_facts(call); }},
      {"arithmetic", [&] { return arithmetic(); }},
      {"config", [&] { return self.config; }},
      {"echo", [&] { return argument; }},
      {"conversation", [&] { return std::to_string(call->conversation); }},
      {"tables",
       [&] {
         const agentd_services& have = *call->services;
         return std::string(have.compactor ? "c" : "-") + (have.threads ? "t" : "-") +
                (have.store ? "s" : "-");
       }},
      {"old_token",
       [&] {
         const std::string out = std::to_string(say(call->core, self.old_token, "too late"));
         return out + " " +
                std::to_string(call->core->complete(call->core, self.old_token, AGENTD_OK));
       }},
      {"allocate",
       [&] {
         void* const memory =
             call->core->arena(call->core, call->token, std::stoul(argument) << 20, 8);
         return std::string(memory == nullptr ? "NULL" : "memory");
       }},
      {"write_payload",
       [&] {
         const_cast<char*>(message->text.ptr)[0] = 'X';
         return std::string("written");
       }},
  };
  if (command == "pend" || command == "pend_early")
    return pend(self, call, command == "pend_early");
  if (command == "status") return std::stoi(argument);
  if (command == "end") end_process(argument);
  const auto found = commands.find(command);
  const std::string answer =
      found == commands.end() ? do_system_call(command, argument) : found->second();
  self.old_token = call->token;
  return answer.empty() ? AGENTD_OK : say(call->core, call->token, answer);
}

// The types promise that nothing is thrown; this one lies when it is told to.
agentd_status AGENTD_CALL hook(void* self, const agentd_call* call) {
  return run(*static_cast<Puppet*>(self), call);
}

agentd_status AGENTD_CALL second_hook(void*, const agentd_call* call) AGENTD_NOEXCEPT {
  return say(call->core, call->token, "second");
}

agentd_status AGENTD_CALL create(const agentd_call* call, void** self) AGENTD_NOEXCEPT {
  const auto* const info = static_cast<const agentd_create_info*>(call->payload);
  auto* const puppet = new Puppet;
  puppet->config = str(info->config_json);
  *self = puppet;
  return puppet->config == "refuse" ? AGENTD_E_ARG : AGENTD_OK;
}

agentd_status AGENTD_CALL destroy(void* self, const agentd_call* call) AGENTD_NOEXCEPT {
  auto* const puppet = static_cast<Puppet*>(self);
  if (puppet->thread.joinable()) puppet->thread.join();
  const std::string text = !puppet->left_a_task ? "destroyed"
                           : puppet->task_ended ? "after the task"
                                                : "too early";
  call->core->log(call->core, call->token, AGENTD_LEVEL_INFO, abi(text));
  delete puppet;
  return AGENTD_OK;
}

agentd_status AGENTD_CALL save_state(void* self, const agentd_call* call) AGENTD_NOEXCEPT {
  const std::string state = "state of " + static_cast<Puppet*>(self)->config;
  const agentd_act_text act{{sizeof act, AGENTD_ACT_STATE, 0}, 0, 0, abi(state)};
  return call->core->emit(call->core, call->token, &act.h);
}

using Lies = agentd_status(AGENTD_CALL*)(void*, const agentd_call*);
const agentd_fn throwing_hook = reinterpret_cast<agentd_fn>(static_cast<Lies>(hook));

const agentd_hook hooks[] = {
    {AGENTD_EVENT_USER_MESSAGE_SEND, AGENTD_HOOK_GATES, 5, throwing_hook, 0},
    {AGENTD_EVENT_USER_MESSAGE_SEND, 0, -3, second_hook, AGENTD_WANTS_MESSAGES},
};

const agentd_plugin plugin = {sizeof(agentd_plugin),
                              AGENTD_CONCURRENT,
                              {"org.agentd.test.puppet", 22},
                              {"1.2.3", 5},
                              create,
                              destroy,
                              save_state,
                              nullptr,
                              {hooks, 2, sizeof hooks[0]}};

}  // namespace

extern "C" agentd_status AGENTD_CALL agentd_hook_entry_v1(agentd_negotiate* io) AGENTD_NOEXCEPT {
  io->magic = AGENTD_MAGIC;
  io->abi = AGENTD_ABI;
  io->plugin = &plugin;
  if ((io->flags & AGENTD_NEGOTIATE_WORKER) == 0) {
    io->error = {"this hook runs in workers only", 30};
    return AGENTD_E_UNSUPPORTED;
  }
  return AGENTD_OK;
}
