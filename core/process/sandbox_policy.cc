// SPDX-License-Identifier: Apache-2.0
#include "core/process/sandbox_policy.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/fs.h>
#include <linux/futex.h>
#include <linux/netlink.h>
#include <linux/sched.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <initializer_list>
#include <map>
#include <memory>
#include <string_view>

#include "core/base/file.h"
#include "core/process/sandbox_calls.h"

namespace agentd {
namespace {

// Calls of futex(2) that libseccomp 2.5 has no names for.
constexpr int kFutexWake = 454, kFutexWait = 455, kFutexRequeue = 456;
constexpr std::size_t kInstructionsMax = 4'096;                                     // the kernel's limit
constexpr long kLandlockCreate = 444, kLandlockAdd = 445, kLandlockRestrict = 446;  // Landlock
constexpr std::uint64_t kIoPriorityOfProcess = 1;                                   // linux/ioprio.h

struct EndFilter {
  void operator()(void* filter) const { ::seccomp_release(filter); }
};

// Calls without a rule are refused with EPERM, or allowed.
class Filter {
 public:
  enum class Other { kRefused, kOpen };
  explicit Filter(Other other)
      : filter_(::seccomp_init(other == Other::kOpen ? SCMP_ACT_ALLOW : SCMP_ACT_ERRNO(EPERM))) {
    if (!filter_) return;
    // Calls of other program types (32 bit, x32) are refused too.
    ::seccomp_attr_set(filter_.get(), SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(EPERM));
    constexpr std::uint32_t kBinaryTree = 2;
    ::seccomp_attr_set(filter_.get(), SCMP_FLTATR_CTL_OPTIMIZE, kBinaryTree);
  }

  void allow(const char* name, std::initializer_list<scmp_arg_cmp> arguments = {}) {
    note(allowed_, name, arguments);
    add(SCMP_ACT_ALLOW, ::seccomp_syscall_resolve_name(name), arguments);
  }
  // Adds one rule for each allowed value of the argument.
  void allow_values(const char* name, unsigned argument, std::initializer_list<std::uint64_t> values) {
    for (const std::uint64_t value : values) allow(name, {{argument, SCMP_CMP_MASKED_EQ, kLowHalf, value}});
  }
  void allow(int call) { add(SCMP_ACT_ALLOW, call, {}); }
  void refuse(const char* name, std::initializer_list<scmp_arg_cmp> arguments = {}) { answer(EPERM, name, arguments); }
  void answer(unsigned error, const char* name, std::initializer_list<scmp_arg_cmp> arguments = {}) {
    note(refused_, name, arguments);
    add(SCMP_ACT_ERRNO(error), ::seccomp_syscall_resolve_name(name), arguments);
  }
  void answer(unsigned error, int call, std::initializer_list<scmp_arg_cmp> arguments = {}) {
    add(SCMP_ACT_ERRNO(error), call, arguments);
  }

  // The rules by name: true for a call with a rule for all arguments, false for one with rules for some.
  using Rules = std::map<std::string_view, bool>;
  const Rules& allowed() const { return allowed_; }
  const Rules& refused() const { return refused_; }

  bool no_memory() const { return !filter_ || no_memory_; }
  // Empty when it could not be built.
  std::vector<FilterInstruction> program() const {
    static_assert(sizeof(FilterInstruction) == sizeof(sock_filter));
    int ends[2] = {-1, -1};
    if (no_memory() || ::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return {};
    const UniqueFd from(ends[0]), to(ends[1]);
    std::vector<FilterInstruction> out(kInstructionsMax);
    if (::seccomp_export_bpf(filter_.get(), to.get()) != 0) return {};
    const ssize_t got = ::read(from.get(), out.data(), out.size() * sizeof(FilterInstruction));
    out.resize(got > 0 ? static_cast<std::size_t>(got) / sizeof(FilterInstruction) : 0);
    return out;
  }

  // The bits of an argument that the kernel reads as an int.
  static constexpr std::uint64_t kLowHalf = 0xffffffff;

 private:
  static void note(Rules& rules, const char* name, std::initializer_list<scmp_arg_cmp> arguments) {
    bool& whole = rules[name];
    whole = whole || arguments.size() == 0;
  }

  // A call that libseccomp does not know stays refused.
  void add(std::uint32_t action, int call, std::initializer_list<scmp_arg_cmp> arguments) {
    if (call < 0 || !filter_) return;
    const int got = ::seccomp_rule_add_array(filter_.get(), action, call, static_cast<unsigned>(arguments.size()),
                                             arguments.begin());
    if (got == -ENOMEM) no_memory_ = true;
  }

  std::unique_ptr<void, EndFilter> filter_;
  bool no_memory_ = false;
  Rules allowed_, refused_;
};

scmp_arg_cmp is(unsigned argument, std::uint64_t value) {
  return {argument, SCMP_CMP_MASKED_EQ, Filter::kLowHalf, value};
}
scmp_arg_cmp is_null(unsigned argument) { return {argument, SCMP_CMP_EQ, 0, 0}; }
scmp_arg_cmp is_not(unsigned argument, std::uint64_t value) { return {argument, SCMP_CMP_NE, value, 0}; }
scmp_arg_cmp has_bits(unsigned argument, std::uint64_t mask, std::uint64_t bits) {
  return {argument, SCMP_CMP_MASKED_EQ, mask, bits};
}

bool is_open(std::string_view opened_by, const OpenedCalls& opened) {
  const auto names = [&](std::string_view capability) { return opened_by.find(capability) != std::string_view::npos; };
  return opened_by == "always" || (opened.files_read && names("files:read")) ||
         (opened.files_write && names("files:write")) || (opened.network && names("network")) ||
         (opened.processes && names("processes"));
}

// A call that moves or wakes the waiters of another word could take the host's thread from the word on which it waits
// for this process.
void allow_futex(Filter& filter) {
  constexpr std::uint64_t kCommand = Filter::kLowHalf & ~std::uint64_t{FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME};
  using Commands = std::initializer_list<std::uint64_t>;
  for (const std::uint64_t command : Commands{FUTEX_WAIT, FUTEX_WAKE, FUTEX_WAIT_BITSET, FUTEX_WAKE_BITSET})
    filter.allow("futex", {has_bits(1, kCommand, command)});
  for (const std::uint64_t command :
       Commands{FUTEX_REQUEUE, FUTEX_CMP_REQUEUE, FUTEX_WAKE_OP, FUTEX_LOCK_PI, FUTEX_UNLOCK_PI, FUTEX_TRYLOCK_PI,
                FUTEX_WAIT_REQUEUE_PI, FUTEX_CMP_REQUEUE_PI, FUTEX_LOCK_PI2})
    filter.answer(ENOSYS, "futex", {has_bits(1, kCommand, command)});
  for (const int call : {kFutexWake, kFutexWait, kFutexRequeue}) filter.answer(ENOSYS, call);
}

// Allows threads; with `processes` also processes, and before the sandbox is complete children of its parent. New
// namespaces are never allowed.
void allow_clone(Filter& filter, bool processes) {
  constexpr std::uint64_t kSpaces =
      CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;
  if (processes) {
    filter.allow("clone", {has_bits(0, kSpaces, 0)});
    return;
  }
  filter.allow("clone", {has_bits(0, kSpaces | CLONE_THREAD, CLONE_THREAD)});
  filter.allow("clone", {has_bits(0, kSpaces | CLONE_THREAD | CLONE_PARENT, CLONE_PARENT)});
}

// Leaves out advice that would take pages from the host (MADV_REMOVE) and calls that compare or move pages for the
// whole machine.
void allow_advice(Filter& filter) {
  constexpr std::uint64_t kGuardInstall = 102, kGuardRemove = 103;
  filter.allow_values("madvise", 2,
                      {MADV_NORMAL,   MADV_RANDOM,        MADV_SEQUENTIAL,     MADV_WILLNEED,   MADV_DONTNEED,
                       MADV_FREE,     MADV_DONTFORK,      MADV_DOFORK,         MADV_HUGEPAGE,   MADV_NOHUGEPAGE,
                       MADV_DONTDUMP, MADV_DODUMP,        MADV_WIPEONFORK,     MADV_KEEPONFORK, MADV_COLD,
                       MADV_PAGEOUT,  MADV_POPULATE_READ, MADV_POPULATE_WRITE, kGuardInstall,   kGuardRemove});
}

// The host must stay able to end this process, so PR_SET_DUMPABLE and similar options are left out.
void allow_process_control(Filter& filter, const OpenedCalls& opened) {
  constexpr std::uint64_t kSetVma = 0x53564d41;
  filter.allow_values(
      "prctl", 0,
      {PR_GET_DUMPABLE, PR_SET_NAME, PR_GET_NAME, PR_GET_SECCOMP, PR_CAPBSET_READ, PR_GET_SECUREBITS, PR_SET_TIMERSLACK,
       PR_GET_TIMERSLACK, PR_SET_NO_NEW_PRIVS, PR_GET_NO_NEW_PRIVS, PR_SET_THP_DISABLE, PR_GET_THP_DISABLE,
       PR_GET_SPECULATION_CTRL, PR_SET_SPECULATION_CTRL, PR_GET_PDEATHSIG, PR_SET_PDEATHSIG, kSetVma});
  if (opened.processes) filter.allow_values("prctl", 0, {PR_SET_CHILD_SUBREAPER, PR_GET_CHILD_SUBREAPER});
  filter.allow("prlimit64");
}

// Changing the priority of another process of the user could starve the host. A process may set its own, named by 0:
// any other number could be another process, and a thread's number is not known here.
void allow_own_priority(Filter& filter) {
  filter.allow("setpriority", {is(0, PRIO_PROCESS), is(1, 0)});
  filter.allow("ioprio_set", {is(0, kIoPriorityOfProcess), is(1, 0)});
  for (const char* const call : {"sched_setscheduler", "sched_setparam", "sched_setattr", "sched_setaffinity"})
    filter.allow(call, {is(0, 0)});
}

// Leaves out enlarging pipes and notification by signals to any process. A lock costs kernel memory that no limit
// counts, so locks need a file capability.
void allow_descriptors(Filter& filter, const OpenedCalls& opened) {
  constexpr std::uint64_t kDupQuery = 1027;
  filter.allow_values(
      "fcntl", 1, {F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_GETPIPE_SZ, F_GET_SEALS, kDupQuery});
  if (opened.files_read || opened.files_write)
    filter.allow_values("fcntl", 1, {F_GETLK, F_SETLK, F_SETLKW, F_OFD_GETLK, F_OFD_SETLK, F_OFD_SETLKW});
  filter.allow_values("ioctl", 1, {FIOCLEX, FIONCLEX, FIONBIO, FIONREAD, TCGETS, TIOCGWINSZ, TIOCGPGRP});
  if (opened.files_write) filter.allow_values("ioctl", 1, {FICLONE, FICLONERANGE});
  if (opened.network)
    filter.allow_values("ioctl", 1,
                        {SIOCATMARK, SIOCOUTQ, SIOCGIFCONF, SIOCGIFNAME, SIOCGIFINDEX, SIOCGIFFLAGS, SIOCGIFADDR,
                         SIOCGIFNETMASK, SIOCGIFBRDADDR, SIOCGIFMTU, SIOCGIFHWADDR});
}

// A local socket leads to any process that listens there, which may run commands on request. A pair of stream sockets
// leads nowhere else; a pair of datagram sockets can reach any other by name.
void allow_sockets(Filter& filter, bool network) {
  constexpr std::uint64_t kType = 0xf;
  filter.allow("socketpair", {is(0, AF_UNIX), has_bits(1, kType, SOCK_STREAM)});
  if (!network) {
    filter.allow("sendto", {is_null(4)});
    return;
  }
  filter.allow("sendto");
  filter.allow_values("socket", 0, {AF_INET, AF_INET6});
  filter.allow("socket", {is(0, AF_NETLINK), is(2, NETLINK_ROUTE)});
}

// Calls of a program that prepares itself; refuse_rest() withdraws them.
void allow_getting_ready(Filter& filter) {
  for (const char* const call : {"kill", "pidfd_send_signal", "recvmsg", "rt_sigqueueinfo", "rt_tgsigqueueinfo",
                                 "seccomp", "setsid", "tgkill", "tkill", "open", "openat", "openat2", "creat"})
    filter.allow(call);
  for (const long call : {kLandlockCreate, kLandlockAdd, kLandlockRestrict}) filter.allow(static_cast<int>(call));
}

// Rules for all processes with the same capabilities.
void open_ground(Filter& filter, const OpenedCalls& opened) {
  for (const CallGroup& group : open_calls())
    if (is_open(group.opened_by, opened))
      for (const char* const name : group.names) filter.allow(name);
  allow_futex(filter);
  allow_clone(filter, opened.processes);
  allow_advice(filter);
  allow_process_control(filter, opened);
  allow_own_priority(filter);
  allow_descriptors(filter, opened);
  allow_sockets(filter, opened.network);
  allow_getting_ready(filter);
  // By descriptor only, for files that it has opened: Landlock does not check times.
  if (opened.files_write) filter.allow("utimensat", {is_null(1)});
  for (const char* const name : calls_with_an_older_way()) filter.answer(ENOSYS, name);
}

// Every process may signal itself, as abort() does; others only where the kernel keeps signals inside the sandbox.
void refuse_signals(Filter& filter) {
  for (const char* const call : {"kill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo"})
    filter.refuse(call, {is_not(0, kSelfNumber)});
  filter.refuse("tkill");
  filter.refuse("pidfd_send_signal");
}

// Older kernels let a process truncate a readable file while opening it.
void refuse_emptying(Filter& filter) {
  filter.refuse("creat");
  filter.refuse("open", {has_bits(1, O_TRUNC, O_TRUNC)});
  filter.refuse("openat", {has_bits(2, O_TRUNC, O_TRUNC)});
  // Its flags are in memory, out of reach for a filter; libraries fall back to openat().
  filter.answer(ENOSYS, "openat2");
}

// The host must stay able to end this process.
void refuse_rest(Filter& filter, const OpenedCalls& opened, long landlock) {
  for (const long call : {kLandlockCreate, kLandlockAdd, kLandlockRestrict})
    filter.answer(EPERM, static_cast<int>(call));
  filter.refuse("seccomp");
  filter.refuse("prctl", {is(0, PR_SET_PDEATHSIG)});
  if (opened.own_limits)
    filter.refuse("prlimit64", {is_not(2, 0), is_not(0, 0)});
  else
    filter.refuse("prlimit64", {is_not(2, 0)});
  if (!opened.processes) filter.refuse("setsid");
  if (!opened.processes) filter.refuse("clone", {has_bits(0, CLONE_THREAD, 0)});
  if (!opened.processes && !opened.network) filter.refuse("recvmsg");
  if (!opened.processes || landlock < kLandlockGuardsSignals) refuse_signals(filter);
  if (!opened.files_write && landlock < kLandlockGuardsEmptying) refuse_emptying(filter);
}

// ---- caged commands

constexpr const char* kNeverCaged[] = {
    // other processes
    "ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "kcmp", "pidfd_getfd", "process_mrelease",
    // the kernel and the machine
    "init_module", "finit_module", "delete_module", "create_module", "kexec_load", "kexec_file_load", "bpf",
    "perf_event_open", "userfaultfd", "reboot", "swapon", "swapoff", "acct", "quotactl", "quotactl_fd", "syslog",
    "settimeofday", "clock_settime", "adjtimex", "clock_adjtime", "stime", "sethostname", "setdomainname", "iopl",
    "ioperm", "vhangup", "lookup_dcookie", "nfsservctl", "uselib", "_sysctl", "fanotify_init",
    // keys of the session
    "keyctl", "add_key", "request_key",
    // other views of the file system, and ways to a file that no rule sees
    "mount", "umount", "umount2", "pivot_root", "chroot", "move_mount", "open_tree", "open_tree_attr", "fsopen",
    "fsconfig", "fsmount", "fspick", "mount_setattr", "open_by_handle_at", "name_to_handle_at", "unshare", "setns",
    // calls that no filter sees
    "io_uring_setup", "io_uring_enter", "io_uring_register"};

// Calls that lead from process to process without a file.
constexpr const char* kSharedMemory[] = {"shmget", "shmat",  "semget", "semop",  "semtimedop", "semctl",   "msgget",
                                         "msgsnd", "msgrcv", "msgctl", "shmctl", "mq_open",    "mq_unlink"};

// Calls that change what a file's owner may change, which Landlock does not see: the keeper answers them. In namespaces
// it answers only those that set the bits of refuse_identity_bits().
constexpr const char* kAsked[] = {"chmod",     "fchmod",    "fchmodat",    "chown",        "fchown",      "lchown",
                                  "fchownat",  "utime",     "utimes",      "futimesat",    "utimensat",   "setxattr",
                                  "lsetxattr", "fsetxattr", "removexattr", "lremovexattr", "fremovexattr"};
constexpr int kOpenTreeAttr = 467;  // which older libraries have no name for
constexpr int kFchmodat2 = 452, kSetxattrat = 463, kRemovexattrat = 466, kFileSetattr = 469;

constexpr std::uint64_t kFamilies = 46;  // AF_MAX of this writing; further ones are refused together

// Sockets of a family are refused, or but for streams of TCP: Landlock sees only those connect and bind.
void refuse_all_but_tcp(Filter& filter, std::uint64_t family) {
  constexpr std::uint64_t kType = 0xf;
  for (std::uint64_t type = 0; type <= kType; ++type)
    if (type != SOCK_STREAM) filter.answer(EACCES, "socket", {is(0, family), has_bits(1, kType, type)});
  for (std::uint64_t protocol = 1; protocol < IPPROTO_TCP; ++protocol)
    filter.answer(EACCES, "socket", {is(0, family), is(2, protocol)});
  filter.answer(EACCES, "socket", {is(0, family), {2, SCMP_CMP_GT, IPPROTO_TCP, 0}});
}

// A pair of datagram sockets reaches any other by name; a pair of streams leads nowhere else.
void refuse_pairs_of_datagrams(Filter& filter) {
  constexpr std::uint64_t kType = 0xf;
  for (std::uint64_t type = 0; type <= kType; ++type)
    if (type != SOCK_STREAM && type != SOCK_SEQPACKET) filter.answer(EACCES, "socketpair", {has_bits(1, kType, type)});
}

void refuse_caged_sockets(Filter& filter, const CagedCalls& calls) {
  using Sockets = CagedCalls::Sockets;
  for (std::uint64_t family = 0; family < kFamilies; ++family) {
    const bool inet = family == AF_INET || family == AF_INET6;
    if (inet && calls.sockets == Sockets::kTcp) refuse_all_but_tcp(filter, family);
    if (inet && calls.sockets != Sockets::kNone) continue;
    if (calls.apart && (family == AF_NETLINK || (family == AF_UNIX && calls.local_sockets))) continue;
    filter.answer(EACCES, "socket", {is(0, family)});
  }
  filter.answer(EACCES, "socket", {{0, SCMP_CMP_GE, kFamilies, 0}});
  if (!calls.apart || !calls.local_sockets) refuse_pairs_of_datagrams(filter);
  if (calls.apart) return;
  // The keeper connects to its own port alone. Landlock would open that port of every host.
  if (calls.sockets == Sockets::kTcp)
    for (const char* const call : {"connect", "bind", "listen"}) filter.answer(kAskKeeper, call);
  // Sending opens a connection that Landlock's rule for connect() does not see.
  filter.answer(EACCES, "sendto", {has_bits(3, MSG_FASTOPEN, MSG_FASTOPEN)});
  filter.answer(EACCES, "sendmsg", {has_bits(2, MSG_FASTOPEN, MSG_FASTOPEN)});
  filter.answer(EACCES, "sendmmsg", {has_bits(3, MSG_FASTOPEN, MSG_FASTOPEN)});
}

void refuse_namespaces(Filter& filter) {
  constexpr int kSpaces[] = {CLONE_NEWNS,   CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC,
                             CLONE_NEWUSER, CLONE_NEWPID,    CLONE_NEWNET};
  for (const int space : kSpaces) {
    const auto bits = static_cast<unsigned>(space);
    filter.refuse("clone", {has_bits(0, bits, bits)});
  }
  filter.answer(ENOSYS, "clone3");  // its flags are in memory; libraries fall back to clone()
}

// Text that a terminal takes for typed.
void refuse_typing(Filter& filter) {
  filter.refuse("ioctl", {is(1, TIOCSTI)});
  filter.refuse("ioctl", {is(1, TIOCLINUX)});
}

// Without descriptors or space agentd and the keeper could not put back what a command has changed.
void refuse_limits_of_others(Filter& filter) {
  filter.refuse("prlimit64", {{0, SCMP_CMP_NE, 0, 0}, {2, SCMP_CMP_NE, 0, 0}});
}

// A slower agentd would undo later. A process may set its own, named by 0.
void refuse_priorities_of_others(Filter& filter) {
  for (const std::uint64_t which : {std::uint64_t{PRIO_PGRP}, std::uint64_t{PRIO_USER}})
    filter.refuse("setpriority", {is(0, which)});
  filter.refuse("setpriority", {is_not(1, 0)});
  filter.refuse("ioprio_set", {is_not(0, kIoPriorityOfProcess)});
  filter.refuse("ioprio_set", {is_not(1, 0)});
  for (const char* const call : {"sched_setscheduler", "sched_setparam", "sched_setattr", "sched_setaffinity"})
    filter.refuse(call, {is_not(0, 0)});
}

void ask_keeper(Filter& filter) {
  for (const char* const call : kAsked) filter.answer(kAskKeeper, call);
  filter.answer(ENOSYS, kFchmodat2);
  for (const int call : {kSetxattrat, kRemovexattrat, kFileSetattr}) filter.answer(ENOSYS, call);
  for (const std::uint64_t command : {FS_IOC_SETFLAGS, FS_IOC_FSSETXATTR}) filter.refuse("ioctl", {is(1, command)});
}

// Files with the bits that let other users run them as this one. mkdir() ignores these bits, and a directory with them
// runs nothing: chmod() of one is the keeper's to allow. The mode counts only where a file is made; elsewhere its
// register holds anything.
void refuse_identity_bits(Filter& filter, const CagedCalls& calls) {
  constexpr std::uint64_t kNameless = O_TMPFILE & ~O_DIRECTORY;
  for (const std::uint64_t bit : {std::uint64_t{S_ISUID}, std::uint64_t{S_ISGID}}) {
    filter.refuse("creat", {has_bits(1, bit, bit)});
    filter.refuse("mknod", {has_bits(1, bit, bit)});
    filter.refuse("mknodat", {has_bits(2, bit, bit)});
    for (const std::uint64_t makes : {std::uint64_t{O_CREAT}, kNameless}) {
      filter.refuse("open", {has_bits(1, makes, makes), has_bits(2, bit, bit)});
      filter.refuse("openat", {has_bits(2, makes, makes), has_bits(3, bit, bit)});
    }
    if (!calls.apart) continue;  // each change of a mode is asked about
    filter.answer(kAskKeeper, "chmod", {has_bits(1, bit, bit)});
    filter.answer(kAskKeeper, "fchmod", {has_bits(1, bit, bit)});
    filter.answer(kAskKeeper, "fchmodat", {has_bits(2, bit, bit)});
    filter.answer(ENOSYS, kFchmodat2, {has_bits(2, bit, bit)});
  }
  // Its mode is in memory, out of reach for a filter; programs fall back to openat().
  filter.answer(ENOSYS, "openat2");
}

// Opening may truncate a file that may be read; and truncate() needs no descriptor.
void refuse_emptying_readable(Filter& filter) {
  filter.refuse("truncate");
  filter.refuse("open", {has_bits(1, O_TRUNC | O_ACCMODE, O_TRUNC)});
  filter.refuse("openat", {has_bits(2, O_TRUNC | O_ACCMODE, O_TRUNC)});
}

}  // namespace

std::vector<FilterInstruction> make_caged_program(const CagedCalls& calls) {
  Filter filter(Filter::Other::kOpen);
  for (const char* const call : kNeverCaged) filter.refuse(call);
  filter.answer(EPERM, kOpenTreeAttr);
  refuse_namespaces(filter);
  refuse_typing(filter);
  refuse_limits_of_others(filter);
  refuse_caged_sockets(filter, calls);
  refuse_identity_bits(filter, calls);
  if (!calls.guards_emptying) refuse_emptying_readable(filter);
  if (calls.apart) return filter.program();
  for (const char* const call : kSharedMemory) filter.refuse(call);
  refuse_priorities_of_others(filter);
  ask_keeper(filter);
  return filter.program();
}

std::vector<FilterInstruction> make_ground_program(const OpenedCalls& opened) {
  Filter filter(Filter::Other::kRefused);
  open_ground(filter, opened);
  return filter.program();
}

std::vector<FilterInstruction> make_rest_program(const OpenedCalls& opened, long landlock) {
  Filter filter(Filter::Other::kOpen);
  refuse_rest(filter, opened, landlock);
  return filter.program();
}

std::set<std::string> partly_open_calls(const OpenedCalls& opened) {
  Filter ground(Filter::Other::kRefused);
  open_ground(ground, opened);
  std::vector<Filter::Rules> refusals;
  for (const long landlock : kLandlockAges) {
    Filter rest(Filter::Other::kOpen);
    refuse_rest(rest, opened, landlock);
    refusals.push_back(rest.refused());
  }
  std::set<std::string> out;
  for (const auto& [name, whole] : ground.allowed()) {
    std::size_t open = 0, closed = 0;
    for (const Filter::Rules& refused : refusals) {
      const auto found = refused.find(name);
      if (found == refused.end() && whole) ++open;
      if (found != refused.end() && found->second) ++closed;
    }
    if (open != refusals.size() && closed != refusals.size()) out.emplace(name);
  }
  return out;
}

}  // namespace agentd
