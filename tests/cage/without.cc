// SPDX-License-Identifier: Apache-2.0
// cage_without - runs a program on a machine that lacks a layer of the sandbox:
//
//   cage_without --landlock-abi 3 --user-namespaces -- agentd doctor
//
// The kernel itself refuses the calls (a seccomp filter, a limit of a user namespace), in the program and in all that
// it starts; nothing of the program knows of the test. Exit code: the program's; 77 = this kernel cannot play that
// machine; 2 = usage.
#include <fcntl.h>
#include <linux/prctl.h>
#include <linux/securebits.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "tests/cage/older_landlock.h"

namespace agentd::testing {
namespace {

constexpr int kUsage = 2, kCannot = 77;
constexpr int kCreateRuleset = 444, kAddRule = 445, kRestrictSelf = 446;
constexpr std::uint64_t kSpaces =
    CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;

[[noreturn]] void stop(int code, const std::string& text) {
  std::fprintf(stderr, "cage_without: %s\n", text.c_str());
  std::exit(code);
}

struct Machine {
  bool no_user_namespaces = false;  // refused, as by the filter of a container or by a security module
  bool namespace_limit = false;     // user.max_user_namespaces is 0, for a user who is not root
  bool container = false;           // refuses what Docker's filter refuses: every namespace, every mount
  int landlock_error = 0;
  long landlock_version = 0;  // 0 = the kernel's own
  int seccomp_error = 0;      // EINVAL: a kernel that has none; EPERM: a filter around the program
  std::string bubblewrap;     // what stands in its place; /dev/null: nothing that can be run
};

class Filter {
 public:
  Filter() : context_(::seccomp_init(SCMP_ACT_ALLOW)) {}
  ~Filter() { ::seccomp_release(context_); }
  Filter(const Filter&) = delete;
  Filter& operator=(const Filter&) = delete;

  void refuse(int call, int error) { add(SCMP_ACT_ERRNO(static_cast<std::uint32_t>(error)), call, {}); }
  void refuse(int call, int error, unsigned argument, std::uint64_t value) {
    add(SCMP_ACT_ERRNO(static_cast<std::uint32_t>(error)), call, {{argument, SCMP_CMP_EQ, value, 0}});
  }
  void refuse_bits(int call, int error, unsigned argument, std::uint64_t bits) {
    for (std::uint64_t bit = 1; bit != 0 && bit <= bits; bit <<= 1)
      if ((bits & bit) != 0)
        add(SCMP_ACT_ERRNO(static_cast<std::uint32_t>(error)), call, {{argument, SCMP_CMP_MASKED_EQ, bit, bit}});
  }
  void trace(int call) { add(SCMP_ACT_TRACE(0), call, {}); }
  // From here on, for this process and all that it starts.
  void load() {
    if (!used_) return;
    if (const int failed = ::seccomp_load(context_)) stop(kCannot, "seccomp: " + std::string(std::strerror(-failed)));
  }

 private:
  void add(std::uint32_t action, int call, const std::vector<scmp_arg_cmp>& when) {
    used_ = true;
    const auto count = static_cast<unsigned>(when.size());
    if (const int failed = ::seccomp_rule_add_array(context_, action, call, count, when.data()))
      stop(kCannot, "a rule of seccomp: " + std::string(std::strerror(-failed)));
  }

  scmp_filter_ctx context_;
  bool used_ = false;
};

void refuse_namespaces(Filter& filter, std::uint64_t spaces) {
  filter.refuse_bits(SCMP_SYS(clone), EPERM, 0, spaces);
  filter.refuse_bits(SCMP_SYS(unshare), EPERM, 0, spaces);
  filter.refuse(SCMP_SYS(clone3), ENOSYS);  // its flags are in memory; libraries fall back to clone()
}

void build(Filter& filter, const Machine& machine) {
  if (machine.no_user_namespaces && !machine.container) refuse_namespaces(filter, CLONE_NEWUSER);
  if (machine.container) {
    refuse_namespaces(filter, kSpaces);
    for (const int call : {SCMP_SYS(mount), SCMP_SYS(umount2), SCMP_SYS(pivot_root), SCMP_SYS(setns), SCMP_SYS(bpf),
                           SCMP_SYS(keyctl), SCMP_SYS(add_key), SCMP_SYS(perf_event_open), SCMP_SYS(userfaultfd)})
      filter.refuse(call, EPERM);
  }
  if (machine.landlock_error != 0)
    for (const int call : {kCreateRuleset, kAddRule, kRestrictSelf}) filter.refuse(call, machine.landlock_error);
  if (machine.landlock_version != 0) {
    constexpr std::uint64_t kNetPort = 2;
    filter.trace(kCreateRuleset);
    if (machine.landlock_version < 4) filter.refuse(kAddRule, EINVAL, 1, kNetPort);
  }
  if (machine.seccomp_error != 0) {
    filter.refuse(SCMP_SYS(prctl), machine.seccomp_error, 0, PR_SET_SECCOMP);
    filter.refuse(SCMP_SYS(seccomp), machine.seccomp_error == EINVAL ? ENOSYS : machine.seccomp_error);
    if (machine.seccomp_error == EINVAL) filter.refuse(SCMP_SYS(prctl), EINVAL, 0, PR_GET_SECCOMP);
  }
}

void put(const char* path, const std::string& text) {
  const int fd = ::open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0 || ::write(fd, text.data(), text.size()) < 0)
    stop(kCannot, "writing " + std::string(path) + ": " + std::strerror(errno));
  ::close(fd);
}

// In user and other namespaces of its own, there as `inside`.
void enter_namespaces(int spaces, unsigned inside) {
  const unsigned user = ::geteuid(), group = ::getegid();
  if (::unshare(CLONE_NEWUSER | spaces) != 0) stop(kCannot, "a user namespace: " + std::string(std::strerror(errno)));
  const std::string ends = " 1\n";
  put("/proc/self/setgroups", "deny");
  put("/proc/self/uid_map", std::to_string(inside) + " " + std::to_string(user) + ends);
  put("/proc/self/gid_map", std::to_string(inside) + " " + std::to_string(group) + ends);
}

// Without the rights with which root needs no user namespace.
void limit_namespaces() {
  enter_namespaces(0, ::geteuid());
  put("/proc/sys/user/max_user_namespaces", "0");
  if (::prctl(PR_SET_SECUREBITS, SECBIT_NOROOT | SECBIT_NOROOT_LOCKED, 0, 0, 0) != 0)
    stop(kCannot, "the rights of root: " + std::string(std::strerror(errno)));
}

void replace_bubblewrap(const std::string& by) {
  enter_namespaces(CLONE_NEWNS, ::geteuid());
  for (const char* const path : {"/usr/bin/bwrap", "/usr/local/bin/bwrap"})
    if (::access(path, F_OK) == 0 && ::mount(by.c_str(), path, nullptr, MS_BIND, nullptr) != 0)
      stop(kCannot, "replacing " + std::string(path) + ": " + std::strerror(errno));
}

Machine parse(int argc, char** argv, int* next) {
  Machine out;
  for (; *next < argc; ++*next) {
    const std::string_view word = argv[*next];
    if (word == "--") return ++*next, out;
    if (word == "--user-namespaces") {
      out.no_user_namespaces = true;
    } else if (word == "--user-namespace-limit") {
      out.namespace_limit = true;
    } else if (word == "--container") {
      out.container = true;
    } else if (word == "--landlock") {
      out.landlock_error = ENOSYS;
    } else if (word == "--landlock-at-boot") {
      out.landlock_error = EOPNOTSUPP;
    } else if (word == "--landlock-by-filter") {
      out.landlock_error = EPERM;
    } else if (word == "--landlock-abi" && *next + 1 < argc) {
      out.landlock_version = std::strtol(argv[++*next], nullptr, 10);
    } else if (word == "--bubblewrap" && *next + 1 < argc) {
      out.bubblewrap = argv[++*next];
    } else if (word == "--seccomp") {
      out.seccomp_error = EINVAL;
    } else if (word == "--seccomp-by-filter") {
      out.seccomp_error = EPERM;
    } else {
      stop(kUsage, "unknown option " + std::string(word));
    }
  }
  stop(kUsage, "usage: cage_without [OPTION]... -- PROGRAM [WORD]...");
}

[[noreturn]] void become(const Machine& machine, char** argv) {
  if (!machine.bubblewrap.empty()) replace_bubblewrap(machine.bubblewrap);
  if (machine.namespace_limit) limit_namespaces();
  {
    Filter filter;
    build(filter, machine);
    filter.load();
  }
  ::execvp(argv[0], argv);
  stop(127, std::string(argv[0]) + ": " + std::strerror(errno));
}

int run(int argc, char** argv) {
  int next = 1;
  const Machine machine = parse(argc, argv, &next);
  if (next >= argc) stop(kUsage, "no program");
  if (machine.landlock_version == 0) become(machine, argv + next);
  const long real = ::syscall(kCreateRuleset, nullptr, 0, 1);
  if (real < machine.landlock_version)
    stop(kCannot, "this kernel has version " + std::to_string(real) + " of Landlock");
  const int code = run_with_older_landlock(machine.landlock_version, [&] { become(machine, argv + next); });
  return code < 0 ? kCannot : code;
}

}  // namespace
}  // namespace agentd::testing

int main(int argc, char** argv) { return agentd::testing::run(argc, argv); }
