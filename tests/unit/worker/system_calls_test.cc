// SPDX-License-Identifier: Apache-2.0
// system_calls_test.cc - every system call of the running kernel, made inside of the sandbox.
//
// A filter of the test lies below the sandbox's: calls that carry a mark in their sixth argument
// are not made, they fail with kOpen. Of two refusals the kernel reports the one of the filter that
// came last, so a marked call fails with kOpen when the sandbox lets it through, and with the
// sandbox's own error when it does not. Nothing happens either way.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <initializer_list>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "core/process/sandbox.h"
#include "core/process/sandbox_calls.h"
#include "core/process/sandbox_policy.h"
#include "tests/support/required.h"

namespace agentd::testing {
namespace {

constexpr int kOpen = EXFULL;
constexpr std::uint32_t kMark = 0x5ca1ab1e;
constexpr long kNumbers = 1024;  // the kernel has fewer than half of them
constexpr long kX32 = 0x40000000;
constexpr std::uint64_t kSelf = ~0ull;  // stands for the process id of the child

using Words = std::initializer_list<std::uint64_t>;

struct Call {
  std::string name;  // of a case, for people
  long number = 0;
  std::uint64_t argument[5]{};
};

bool put_the_test_below() {
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[5])),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kMark, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | kOpen),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog all{4, program};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &all) == 0;
}

// Two calls of x86-64 are no calls: the kernel looks for a probe of its own there, asks no filter,
// and ends by SIGILL whoever has none. The jumps are the compiler's own: a sanitizer would make calls beside them.
constexpr int kIllegal = ENOEXEC;
#define UNWATCHED __attribute__((no_sanitize("address", "undefined", "thread")))
void* before_the_call[5];
extern "C" UNWATCHED void leave_the_call(int) { __builtin_longjmp(before_the_call, 1); }
bool is_probe([[maybe_unused]] long number) {
#if defined(__x86_64__)
  return number == 335 || number == 336;
#else
  return false;
#endif
}

UNWATCHED int error_of(const Call& call, std::uint64_t self) {
  if (__builtin_setjmp(before_the_call) != 0) return kIllegal;
  const auto a = [&](std::size_t n) { return call.argument[n] == kSelf ? self : call.argument[n]; };
  errno = 0;
  ::syscall(call.number, a(0), a(1), a(2), a(3), a(4), std::uint64_t{kMark});
  return errno;
}

// What each of the calls fails with in the sandbox; empty when there is none here.
std::vector<int> errors_of(const std::vector<Call>& calls, const SandboxRules& rules) {
  const std::size_t bytes = (calls.size() + 1) * sizeof(int);
  auto* const errors =
      static_cast<int*>(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | MAP_SHARED, -1, 0));
  const pid_t child = ::fork();
  if (child == 0) {
    const auto self = static_cast<std::uint64_t>(::getpid());
    struct sigaction action {};
    action.sa_handler = leave_the_call;
    action.sa_flags = SA_NODEFER;
    ::sigaction(SIGILL, &action, nullptr);
    bool entered = put_the_test_below();
    if (entered) {
      const auto missing = enter_sandbox(rules);
      entered = missing && missing->find("seccomp") == std::string::npos;
    }
    for (std::size_t i = 0; entered && i < calls.size(); ++i) errors[i + 1] = error_of(calls[i], self);
    errors[0] = entered ? 1 : 0;
    ::syscall(SYS_exit_group, 0, 0, 0, 0, 0, 0);  // the mark may lie in a register still
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  std::vector<int> out;
  if (errors[0] == 1) out.assign(errors + 1, errors + 1 + calls.size());
  ::munmap(errors, bytes);
  return out;
}

SandboxRules rules_of(const std::set<std::string>& capabilities) {
  SandboxRules rules;
  rules.network = capabilities.contains("network");
  rules.processes = capabilities.contains("processes");
  rules.files_read = capabilities.contains("files:read");
  rules.files_write = capabilities.contains("files:write");
  return rules;
}

const std::vector<std::set<std::string>> kCapabilities{{},
                                                       {"network"},
                                                       {"processes"},
                                                       {"files:read"},
                                                       {"files:write"},
                                                       {"network", "processes", "files:read", "files:write"}};

std::string named(const std::set<std::string>& capabilities) {
  std::string out = "with";
  for (const std::string& each : capabilities) out += " " + each;
  return capabilities.empty() ? "without capabilities" : out;
}

std::string name_of(long number) {
  char* const name = ::seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, static_cast<int>(number));
  std::string out = name == nullptr ? "number " + std::to_string(number) : name;
  std::free(name);
  return out;
}

// ---- the list, as docs/internals/system-calls.md has it: a heading names what opens the calls
// that stand below it in backquotes at the beginning of a row.

using Lists = std::map<std::string, std::set<std::string>>;

Lists lists_of_the_page() {
  std::ifstream page(AGENTD_SOURCE_DIR "/docs/internals/system-calls.md");
  EXPECT_TRUE(page.is_open());
  Lists out;
  std::string line, heading;
  while (std::getline(page, line)) {
    if (line.starts_with("## ")) heading = line.substr(3);
    if (!line.starts_with("| ")) continue;
    std::istringstream names(line.substr(0, line.find(" | ")));
    for (std::string part; std::getline(names, part, '`');)
      if (std::getline(names, part, '`')) out[heading].insert(part);
  }
  return out;
}

void add(Lists& lists, const std::string& heading, std::span<const char* const> names) {
  for (const char* const name : names) EXPECT_TRUE(lists[heading].insert(name).second) << name << " is there twice";
}

Lists lists_of_the_code() {
  Lists out;
  for (const CallGroup& group : open_calls()) add(out, std::string("Open: ") + group.opened_by, group.names);
  const std::string partly = "Open for some arguments: ";
  const std::set<std::string> always = out[partly + "always"] = partly_open_calls({});
  const std::pair<const char*, OpenedCalls> opened[] = {{"network", {.network = true}},
                                                        {"processes", {.processes = true}},
                                                        {"files:read", {.files_read = true}},
                                                        {"files:write", {.files_write = true}}};
  for (const auto& [capability, calls] : opened)
    for (const std::string& name : partly_open_calls(calls))
      if (!always.contains(name)) out[partly + capability].insert(name);
  add(out, "Refused by ENOSYS", calls_with_an_older_way());
  return out;
}

TEST(SystemCalls, AreTheOnesThatTheDocumentationNames) { EXPECT_EQ(lists_of_the_page(), lists_of_the_code()); }

bool opens(const std::string& heading, const std::set<std::string>& capabilities) {
  const std::string by = heading.substr(heading.find(": ") + 2);
  return by == "always" || std::any_of(capabilities.begin(), capabilities.end(),
                                       [&](const std::string& each) { return by.find(each) != std::string::npos; });
}

// ---- every number

TEST(SystemCalls, OfTheRunningKernelAreRefusedButForTheListed) {
  std::vector<Call> calls;
  for (long number = 0; number < kNumbers; ++number) {
    calls.push_back({"", number, {}});
#if defined(__x86_64__)
    calls.push_back({"", number | kX32, {}});
#endif
  }
  const Lists lists = lists_of_the_page();
  for (const auto& capabilities : kCapabilities) {
    SCOPED_TRACE(named(capabilities));
    std::set<std::string> open, some;
    for (const auto& [heading, names] : lists) {
      if (heading == "Refused by ENOSYS" || !opens(heading, capabilities)) continue;
      (heading.starts_with("Open: ") ? open : some).insert(names.begin(), names.end());
    }
    const std::vector<int> errors = errors_of(calls, rules_of(capabilities));
    if (errors.empty()) AGENTD_TEST_NEEDS_MORE("this kernel has no seccomp");
    std::size_t found = 0, known = 0;
    for (std::size_t i = 0; i < calls.size(); ++i) {
      const bool other_kind = calls[i].number >= kX32;
      const std::string name = name_of(calls[i].number);
      if (is_probe(calls[i].number)) {
        EXPECT_NE(errors[i], 0);
        continue;
      }
      const bool is_open = errors[i] == kOpen;
      EXPECT_TRUE(is_open || errors[i] == EPERM || errors[i] == ENOSYS) << name << errors[i];
      if (!other_kind && some.contains(name)) continue;
      EXPECT_EQ(is_open, !other_kind && open.contains(name)) << name << (other_kind ? " (x32)" : "");
      found += is_open ? 1u : 0u;
    }
    for (const std::string& name : open) known += ::seccomp_syscall_resolve_name(name.c_str()) >= 0 ? 1u : 0u;
    EXPECT_EQ(found, known) << "every listed call was made";
  }
}

// Without the sandbox the same calls reach the filter of the test.
TEST(SystemCalls, AreAllOpenWithoutTheSandbox) {
  std::vector<Call> calls;
  for (long number = 0; number < kNumbers; ++number) calls.push_back({"", number, {}});
  SandboxRules off;
  off.off = true;
  const std::vector<int> errors = errors_of(calls, off);
  for (std::size_t i = 0; i < errors.size(); ++i) {
    if (is_probe(calls[i].number)) continue;
    EXPECT_EQ(errors[i], kOpen) << i;
  }
}

#if defined(__x86_64__)
TEST(SystemCalls, OfPrograms32BitWideAreRefused) {
  for (const bool off : {true, false}) {
    const pid_t child = ::fork();
    if (child == 0) {
      SandboxRules rules;
      rules.off = off;
      (void)enter_sandbox(rules);
      long answer = 20;  // getpid there
      asm volatile("int $0x80" : "+a"(answer) : : "memory", "r8", "r9", "r10", "r11");
      ::_exit(answer == -EPERM ? 1 : answer == ::getpid() ? 2 : 3);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    ASSERT_TRUE(WIFEXITED(status)) << status;
    // 3: the kernel runs no such programs, and there is no door to be closed.
    const int answer = WEXITSTATUS(status);
    EXPECT_TRUE(answer == 3 || answer == (off ? 2 : 1)) << answer;
  }
}
#endif

// ---- those that some arguments open

constexpr std::uint64_t kThread = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD;

struct Case {
  Call call;
  std::string opened_by;  // "always", "never", or capabilities
  int refused = EPERM;
};

std::vector<Case> futex_cases() {
  std::vector<Case> out;
  for (const int flags : {0, FUTEX_PRIVATE_FLAG, FUTEX_CLOCK_REALTIME})
    for (int command = 0; command < 16; ++command) {
      const bool open = command == FUTEX_WAIT || command == FUTEX_WAKE || command == FUTEX_WAIT_BITSET ||
                        command == FUTEX_WAKE_BITSET;
      const bool older = command >= FUTEX_REQUEUE && command <= FUTEX_LOCK_PI2;
      out.push_back(
          {{"futex " + std::to_string(command | flags), SYS_futex, {0, static_cast<std::uint64_t>(command | flags)}},
           open ? "always" : "never",
           older ? ENOSYS : EPERM});
    }
  for (const long number : {449L, 454L, 455L, 456L})
    out.push_back({{"futex call " + std::to_string(number), number, {}}, "never", ENOSYS});
  return out;
}

std::vector<Case> socket_cases() {
  std::vector<Case> out;
  for (std::uint64_t domain = 0; domain < 64; ++domain)
    for (std::uint64_t type = 0; type < 12; ++type) {
      const std::string what = std::to_string(domain) + " type " + std::to_string(type);
      const bool inet = domain == AF_INET || domain == AF_INET6 || domain == AF_NETLINK;
      out.push_back({{"socket " + what, SYS_socket, {domain, type}}, inet ? "network" : "never"});
      const bool pair = domain == AF_UNIX && type == SOCK_STREAM;
      for (const std::uint64_t flags : Words{0, SOCK_CLOEXEC, SOCK_CLOEXEC | SOCK_NONBLOCK})
        out.push_back({{"socketpair " + what, SYS_socketpair, {domain, type | flags}}, pair ? "always" : "never"});
    }
  out.push_back({{"socket netlink of another protocol", SYS_socket, {AF_NETLINK, 3, NETLINK_AUDIT}}, "never"});
  out.push_back({{"send", SYS_sendto, {3, 1, 1, 0, 0}}, "always"});
  out.push_back({{"sendto an address", SYS_sendto, {3, 1, 1, 0, 4096}}, "network"});
  return out;
}

std::vector<Case> process_cases() {
  std::vector<Case> out{
      {{"a thread", SYS_clone, {kThread}}, "always"},
      {{"a process", SYS_clone, {SIGCHLD}}, "processes"},
      {{"posix_spawn", SYS_clone, {CLONE_VM | CLONE_VFORK | SIGCHLD}}, "processes"},
      {{"clone3", SYS_clone3, {}}, "never", ENOSYS},
      {{"to look at a limit", SYS_prlimit64, {0, RLIMIT_NOFILE, 0, 4096}}, "always"},
      {{"to set a limit", SYS_prlimit64, {0, RLIMIT_NOFILE, 4096, 0}}, "never"},
      {{"PR_SET_NAME", SYS_prctl, {PR_SET_NAME}}, "always"},
      {{"PR_SET_PDEATHSIG", SYS_prctl, {PR_SET_PDEATHSIG}}, "never"},
      {{"PR_SET_DUMPABLE", SYS_prctl, {PR_SET_DUMPABLE}}, "never"},
      {{"PR_SET_PTRACER", SYS_prctl, {PR_SET_PTRACER}}, "never"},
      {{"PR_SET_SECCOMP", SYS_prctl, {PR_SET_SECCOMP}}, "never"},
      {{"PR_SET_CHILD_SUBREAPER", SYS_prctl, {PR_SET_CHILD_SUBREAPER}}, "processes"},
      {{"own priority", SYS_setpriority, {PRIO_PROCESS, 0, 5}}, "always"},
      {{"priority of a group", SYS_setpriority, {PRIO_PGRP, 0, 5}}, "never"},
      {{"priority of another", SYS_setpriority, {PRIO_PROCESS, 1, 5}}, "never"},
      {{"own scheduler", SYS_sched_setscheduler, {0}}, "always"},
      {{"scheduler of another", SYS_sched_setscheduler, {1}}, "never"},
      {{"MADV_DONTNEED", SYS_madvise, {0, 0, MADV_DONTNEED}}, "always"},
      {{"MADV_REMOVE", SYS_madvise, {0, 0, MADV_REMOVE}}, "never"},
      {{"MADV_MERGEABLE", SYS_madvise, {0, 0, MADV_MERGEABLE}}, "never"},
      {{"utimensat by name", SYS_utimensat, {0, 4096}}, "never"},
      {{"utimensat by descriptor", SYS_utimensat, {3, 0}}, "files:write"},
  };
  for (const std::uint64_t space :
       Words{CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC, CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET})
    for (const std::uint64_t more : {std::uint64_t{SIGCHLD}, kThread})
      out.push_back({{"a namespace " + std::to_string(space), SYS_clone, {space | more}}, "never"});
  for (const long number : {SYS_kill, SYS_tgkill, SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo})
    out.push_back({{"a signal to itself", number, {kSelf}}, "always"});
  return out;
}

std::vector<Case> descriptor_cases() {
  std::vector<Case> out;
  const std::set<std::uint64_t> always{F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD, F_SETFD,    F_GETFL,
                                       F_SETFL, F_GETPIPE_SZ,    1027,    F_GET_SEALS};
  const std::set<std::uint64_t> locks{F_GETLK, F_SETLK, F_SETLKW, F_OFD_GETLK, F_OFD_SETLK, F_OFD_SETLKW};
  for (std::uint64_t command = 0; command < 1100; ++command)
    out.push_back({{"fcntl " + std::to_string(command), SYS_fcntl, {3, command}},
                   always.contains(command)  ? "always"
                   : locks.contains(command) ? "files:read, files:write"
                                             : "never"});
  for (const std::uint64_t command : Words{TCGETS, FIONREAD, FIOCLEX})
    out.push_back({{"ioctl " + std::to_string(command), SYS_ioctl, {3, command}}, "always"});
  for (const std::uint64_t command : Words{TIOCSTI, FIOASYNC, TIOCSCTTY})
    out.push_back({{"ioctl " + std::to_string(command), SYS_ioctl, {3, command}}, "never"});
  return out;
}

TEST(SystemCalls, WithArgumentsThatAreNotListedAreRefused) {
  std::vector<Case> cases = futex_cases();
  for (const auto& more : {socket_cases(), process_cases(), descriptor_cases()})
    cases.insert(cases.end(), more.begin(), more.end());
  std::vector<Call> calls;
  for (const Case& each : cases) calls.push_back(each.call);
  for (const auto& capabilities : kCapabilities) {
    SCOPED_TRACE(named(capabilities));
    const std::vector<int> errors = errors_of(calls, rules_of(capabilities));
    if (errors.empty()) AGENTD_TEST_NEEDS_MORE("this kernel has no seccomp");
    for (std::size_t i = 0; i < cases.size(); ++i)
      EXPECT_EQ(errors[i], opens(": " + cases[i].opened_by, capabilities) ? kOpen : cases[i].refused)
          << cases[i].call.name;
  }
}

}  // namespace
}  // namespace agentd::testing
