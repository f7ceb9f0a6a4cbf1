// SPDX-License-Identifier: Apache-2.0
// puppet_sandbox.cc - what a sandbox is about: calls of the system, and ways to end.
#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/unit/worker/plugins/puppet.h"
#include "tests/unit/worker/plugins/ways_out.h"

namespace puppet {

using namespace ways_out;

namespace {

// Made while the module is loaded, before anything of the hook is called.
const int socket_of_constructor = [] {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  return fd < 0 ? -errno : fd;
}();

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
  for (int fd = ::open("/dev/null", O_RDONLY); fd >= 0 && open.size() < 5'000; fd = ::open("/dev/null", O_RDONLY))
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
    found = std::sscanf(line, "%lx-%lx %4s", &from, &to, mode) == 3 && std::string_view(mode) == "rw-s";
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
  if (way == "setpriority") return result(::setpriority(PRIO_PROCESS, who, ::getpriority(PRIO_PROCESS, who)));
  if (way == "setpriority_group") return result(::setpriority(PRIO_PGRP, 0, ::getpriority(PRIO_PGRP, 0)));
  if (way == "setpriority_user") return result(::setpriority(PRIO_USER, 0, ::getpriority(PRIO_USER, 0)));
  if (way == "ioprio_set") return result(::syscall(SYS_ioprio_set, kOfProcess, pid, kBestEffort));
  if (way == "ioprio_set_group") return result(::syscall(SYS_ioprio_set, 2, 0, kBestEffort));
  if (way == "sched_setscheduler") return result(::sched_setscheduler(pid, ::sched_getscheduler(pid), &parameters));
  if (way == "sched_setparam") return result(::sched_setparam(pid, &parameters));
  if (way == "sched_setattr") {
    if (::syscall(SYS_sched_getattr, pid, attributes, sizeof attributes, 0) != 0) return "sched_getattr: " + result(-1);
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

}  // namespace

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
  if (what == "constructor") return socket_of_constructor < 0 ? ::strerrorname_np(-socket_of_constructor) : "ok";
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

void end_process(const std::string& how) {
  if (how == "abort") std::abort();
  if (how == "exit") ::_exit(3);
  if (how == "segv") ::raise(SIGSEGV);
  if (how == "throw") throw std::runtime_error("over the border");
  if (how == "throw_int") throw 42;
  if (how == "spin")
    for (;;) ::pause();
}

}  // namespace puppet
