// SPDX-License-Identifier: Apache-2.0
#include "core/process/sandbox.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/fs.h>
#include <linux/futex.h>
#include <linux/netlink.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <linux/sockios.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <string_view>

#include "core/base/file.h"
#include "core/process/sandbox_calls.h"

namespace agentd {
namespace {

// ---- Landlock. The numbers of linux/landlock.h, which an older system has only in part.

constexpr long kCreateRuleset = 444, kAddRule = 445, kRestrictSelf = 446;
constexpr std::uint32_t kAskVersion = 1, kPathBeneath = 1;

constexpr std::uint64_t kExecute = 1u << 0, kWriteFile = 1u << 1, kReadFile = 1u << 2,
                        kReadDirectory = 1u << 3, kRemoveDirectory = 1u << 4, kRemoveFile = 1u << 5,
                        kMakeDirectory = 1u << 7, kMakeRegular = 1u << 8, kMakeSocket = 1u << 9,
                        kMakeFifo = 1u << 10, kMakeLink = 1u << 12, kRefer = 1u << 13,
                        kTruncate = 1u << 14, kDeviceControl = 1u << 15;
constexpr std::uint64_t kNetBind = 1u << 0, kNetConnect = 1u << 1;
constexpr std::uint64_t kScopeAbstractSocket = 1u << 0, kScopeSignal = 1u << 1;
constexpr long kVersionTruncate = 3, kVersionNet = 4, kVersionScope = 6;

constexpr std::uint64_t kToRead = kExecute | kReadFile | kReadDirectory;
// Listing a directory belongs to writing in it: who makes a file syncs its directory.
constexpr std::uint64_t kToWrite = kWriteFile | kReadDirectory | kRemoveDirectory | kRemoveFile |
                                   kMakeDirectory | kMakeRegular | kMakeSocket | kMakeFifo |
                                   kMakeLink | kRefer | kTruncate;
constexpr std::uint64_t kOfFiles = kExecute | kWriteFile | kReadFile | kTruncate | kDeviceControl;

struct RulesetAttributes {
  std::uint64_t files, net, scopes;
};
struct [[gnu::packed]] PathAttributes {
  std::uint64_t allowed;
  std::int32_t fd;
};

// What every program needs to find its libraries, its time zone and itself.
constexpr const char* kAlwaysReadable[] = {"/usr",
                                           "/lib",
                                           "/lib64",
                                           "/bin",
                                           "/etc/ld.so.cache",
                                           "/etc/localtime",
                                           "/etc/nsswitch.conf",
                                           "/proc/self",
                                           "/dev/urandom",
                                           "/dev/zero"};

long landlock_version() { return ::syscall(kCreateRuleset, nullptr, 0, kAskVersion); }

std::uint64_t file_rights(long version) {
  std::uint64_t rights = (1u << 13) - 1;
  if (version >= 2) rights |= kRefer;
  if (version >= kVersionTruncate) rights |= kTruncate;
  if (version >= 5) rights |= kDeviceControl;
  return rights;
}

class Landlock {
 public:
  Landlock(const SandboxRules& rules, long version) : rights_(file_rights(version)) {
    RulesetAttributes attributes{rights_, 0, 0};
    std::size_t bytes = sizeof attributes.files;
    if (version >= kVersionNet) {
      attributes.net = rules.network ? 0 : kNetBind | kNetConnect;
      bytes += sizeof attributes.net;
    }
    if (version >= kVersionScope) {
      attributes.scopes = kScopeSignal | (rules.network ? 0 : kScopeAbstractSocket);
      bytes += sizeof attributes.scopes;
    }
    ruleset_ = UniqueFd(static_cast<int>(::syscall(kCreateRuleset, &attributes, bytes, 0)));
  }

  // What is not there needs no rule.
  void allow(const std::string& path, std::uint64_t rights) {
    const UniqueFd fd(::open(path.c_str(), O_PATH | O_CLOEXEC));
    if (fd.valid()) allow(fd.get(), rights);
  }
  void allow(int fd, std::uint64_t rights) {
    struct stat info {};
    if (::fstat(fd, &info) != 0) return;
    if (!S_ISDIR(info.st_mode)) rights &= kOfFiles;
    const PathAttributes attributes{rights & rights_, fd};
    // A memory file belongs to no tree that could be guarded: refused, and open without a rule.
    ::syscall(kAddRule, ruleset_.get(), kPathBeneath, &attributes, 0);
  }

  bool enter() const {
    return ruleset_.valid() && ::syscall(kRestrictSelf, ruleset_.get(), 0) == 0;
  }

 private:
  const std::uint64_t rights_;
  UniqueFd ruleset_;
};

// True when files are guarded.
bool guard_files(const SandboxRules& rules, long version) {
  Landlock landlock(rules, version);
  for (const char* const path : kAlwaysReadable) landlock.allow(path, kToRead);
  landlock.allow("/dev/null", kReadFile | kWriteFile);
  for (const int fd : rules.reopened) landlock.allow(fd, kReadFile);
  if (rules.files_read)
    for (const std::string& path : rules.readable) landlock.allow(path, kToRead);
  if (rules.files_write)
    for (const std::string& path : rules.writable)
      landlock.allow(path, kToWrite | (rules.files_read ? kToRead : 0));
  return landlock.enter();
}

// ---- seccomp

// Calls of futex(2) that libseccomp 2.5 has no names for.
constexpr int kFutexWake = 454, kFutexWait = 455, kFutexRequeue = 456;
constexpr std::uint64_t kIoPriorityOfProcess = 1;  // linux/ioprio.h

struct EndFilter {
  void operator()(void* filter) const { ::seccomp_release(filter); }
};

// What nobody speaks of is refused by EPERM, or open.
class Filter {
 public:
  enum class Other { kRefused, kOpen };
  explicit Filter(Other other)
      : filter_(::seccomp_init(other == Other::kOpen ? SCMP_ACT_ALLOW : SCMP_ACT_ERRNO(EPERM))) {
    if (!filter_) return;
    // The rules bind every thread that there is, not the calling one alone.
    ::seccomp_attr_set(filter_.get(), SCMP_FLTATR_CTL_TSYNC, 1);
    // Numbers of other kinds of program (32 bit, x32) are refused like all others.
    ::seccomp_attr_set(filter_.get(), SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(EPERM));
    constexpr std::uint32_t kBinaryTree = 2;
    ::seccomp_attr_set(filter_.get(), SCMP_FLTATR_CTL_OPTIMIZE, kBinaryTree);
  }

  void allow(const char* name, std::initializer_list<scmp_arg_cmp> arguments = {}) {
    add(SCMP_ACT_ALLOW, ::seccomp_syscall_resolve_name(name), arguments);
  }
  // One rule for each of the values that argument may have.
  void allow_values(const char* name, unsigned argument,
                    std::initializer_list<std::uint64_t> values) {
    for (const std::uint64_t value : values)
      allow(name, {{argument, SCMP_CMP_MASKED_EQ, kLowHalf, value}});
  }
  void allow(int call) { add(SCMP_ACT_ALLOW, call, {}); }
  void refuse(const char* name, std::initializer_list<scmp_arg_cmp> arguments = {}) {
    answer(EPERM, ::seccomp_syscall_resolve_name(name), arguments);
  }
  void answer(unsigned error, int call, std::initializer_list<scmp_arg_cmp> arguments = {}) {
    add(SCMP_ACT_ERRNO(error), call, arguments);
  }

  bool no_memory() const { return !filter_ || no_memory_; }
  // 0, or what failed as a negative number of errno.
  int enter() const { return ::seccomp_load(filter_.get()); }
  // The program for the kernel; empty when it could not be made.
  std::string program() const {
    int ends[2] = {-1, -1};
    if (!filter_ || ::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return {};
    const UniqueFd from(ends[0]), to(ends[1]);
    char bytes[16 * 1024];
    if (::seccomp_export_bpf(filter_.get(), to.get()) != 0) return {};
    const ssize_t got = ::read(from.get(), bytes, sizeof bytes);
    return got > 0 ? std::string(bytes, static_cast<std::size_t>(got)) : std::string();
  }

  // Of an argument that the kernel reads as an int.
  static constexpr std::uint64_t kLowHalf = 0xffffffff;

 private:
  // A call that this machine's libseccomp does not know stays refused.
  void add(std::uint32_t action, int call, std::initializer_list<scmp_arg_cmp> arguments) {
    if (call < 0 || !filter_) return;
    const int got = ::seccomp_rule_add_array(
        filter_.get(), action, call, static_cast<unsigned>(arguments.size()), arguments.begin());
    if (got == -ENOMEM) no_memory_ = true;
  }

  std::unique_ptr<void, EndFilter> filter_;
  bool no_memory_ = false;
};

scmp_arg_cmp is(unsigned argument, std::uint64_t value) {
  return {argument, SCMP_CMP_MASKED_EQ, Filter::kLowHalf, value};
}
scmp_arg_cmp is_null(unsigned argument) { return {argument, SCMP_CMP_EQ, 0, 0}; }
scmp_arg_cmp is_not(unsigned argument, std::uint64_t value) {
  return {argument, SCMP_CMP_NE, value, 0};
}
scmp_arg_cmp has_bits(unsigned argument, std::uint64_t mask, std::uint64_t bits) {
  return {argument, SCMP_CMP_MASKED_EQ, mask, bits};
}

bool is_open(std::string_view opened_by, const SandboxRules& rules) {
  const auto names = [&](std::string_view capability) {
    return opened_by.find(capability) != std::string_view::npos;
  };
  return opened_by == "always" || (rules.files_read && names("files:read")) ||
         (rules.files_write && names("files:write")) || (rules.network && names("network")) ||
         (rules.processes && names("processes"));
}

// A call that moves or wakes the sleepers of another word could take the host's thread from the
// word on which it waits for this process.
void allow_futex(Filter& filter) {
  constexpr std::uint64_t kCommand =
      Filter::kLowHalf & ~std::uint64_t{FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME};
  using Commands = std::initializer_list<std::uint64_t>;
  for (const std::uint64_t command :
       Commands{FUTEX_WAIT, FUTEX_WAKE, FUTEX_WAIT_BITSET, FUTEX_WAKE_BITSET})
    filter.allow("futex", {has_bits(1, kCommand, command)});
  for (const std::uint64_t command :
       Commands{FUTEX_REQUEUE, FUTEX_CMP_REQUEUE, FUTEX_WAKE_OP, FUTEX_LOCK_PI, FUTEX_UNLOCK_PI,
                FUTEX_TRYLOCK_PI, FUTEX_WAIT_REQUEUE_PI, FUTEX_CMP_REQUEUE_PI, FUTEX_LOCK_PI2})
    filter.answer(ENOSYS, ::seccomp_syscall_resolve_name("futex"),
                  {has_bits(1, kCommand, command)});
  for (const int call : {kFutexWake, kFutexWait, kFutexRequeue}) filter.answer(ENOSYS, call);
}

// Threads; with `processes` others, too, and before the sandbox is whole those that are its parent's. A
// namespace of its own nobody gets.
void allow_clone(Filter& filter, bool processes) {
  constexpr std::uint64_t kSpaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC |
                                    CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;
  if (processes) {
    filter.allow("clone", {has_bits(0, kSpaces, 0)});
    return;
  }
  filter.allow("clone", {has_bits(0, kSpaces | CLONE_THREAD, CLONE_THREAD)});
  filter.allow("clone", {has_bits(0, kSpaces | CLONE_THREAD | CLONE_PARENT, CLONE_PARENT)});
}

// Advice that would take pages from under the host (MADV_REMOVE) is not there, nor what compares or
// moves pages for the whole machine.
void allow_advice(Filter& filter) {
  constexpr std::uint64_t kGuardInstall = 102, kGuardRemove = 103;
  filter.allow_values(
      "madvise", 2,
      {MADV_NORMAL,   MADV_RANDOM,        MADV_SEQUENTIAL,     MADV_WILLNEED,   MADV_DONTNEED,
       MADV_FREE,     MADV_DONTFORK,      MADV_DOFORK,         MADV_HUGEPAGE,   MADV_NOHUGEPAGE,
       MADV_DONTDUMP, MADV_DODUMP,        MADV_WIPEONFORK,     MADV_KEEPONFORK, MADV_COLD,
       MADV_PAGEOUT,  MADV_POPULATE_READ, MADV_POPULATE_WRITE, kGuardInstall,   kGuardRemove});
}

// The host ends this process and must stay able to: PR_SET_DUMPABLE and its like are not there.
void allow_process_control(Filter& filter, const SandboxRules& rules) {
  constexpr std::uint64_t kSetVma = 0x53564d41;
  filter.allow_values(
      "prctl", 0,
      {PR_GET_DUMPABLE, PR_SET_NAME, PR_GET_NAME, PR_GET_SECCOMP, PR_CAPBSET_READ,
       PR_GET_SECUREBITS, PR_SET_TIMERSLACK, PR_GET_TIMERSLACK, PR_SET_NO_NEW_PRIVS,
       PR_GET_NO_NEW_PRIVS, PR_SET_THP_DISABLE, PR_GET_THP_DISABLE, PR_GET_SPECULATION_CTRL,
       PR_SET_SPECULATION_CTRL, PR_GET_PDEATHSIG, PR_SET_PDEATHSIG, kSetVma});
  if (rules.processes)
    filter.allow_values("prctl", 0, {PR_SET_CHILD_SUBREAPER, PR_GET_CHILD_SUBREAPER});
  filter.allow("prlimit64");
}

// Who may set the priority of another process of the user can starve the host. Its own one a process
// may set, named by 0: a number could be anybody's, and a thread's number is not known here.
void allow_own_priority(Filter& filter) {
  filter.allow("setpriority", {is(0, PRIO_PROCESS), is(1, 0)});
  filter.allow("ioprio_set", {is(0, kIoPriorityOfProcess), is(1, 0)});
  for (const char* const call :
       {"sched_setscheduler", "sched_setparam", "sched_setattr", "sched_setaffinity"})
    filter.allow(call, {is(0, 0)});
}

// Without what makes a pipe larger, and what tells of events by a signal, to anybody. A lock costs
// the kernel memory that no limit counts: they are for those who have files.
void allow_descriptors(Filter& filter, const SandboxRules& rules) {
  constexpr std::uint64_t kDupQuery = 1027;
  filter.allow_values("fcntl", 1,
                      {F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_GETPIPE_SZ,
                       F_GET_SEALS, kDupQuery});
  if (rules.files_read || rules.files_write)
    filter.allow_values("fcntl", 1,
                        {F_GETLK, F_SETLK, F_SETLKW, F_OFD_GETLK, F_OFD_SETLK, F_OFD_SETLKW});
  filter.allow_values("ioctl", 1,
                      {FIOCLEX, FIONCLEX, FIONBIO, FIONREAD, TCGETS, TIOCGWINSZ, TIOCGPGRP});
  if (rules.files_write) filter.allow_values("ioctl", 1, {FICLONE, FICLONERANGE});
  if (rules.network)
    filter.allow_values("ioctl", 1,
                        {SIOCATMARK, SIOCOUTQ, SIOCGIFCONF, SIOCGIFNAME, SIOCGIFINDEX, SIOCGIFFLAGS,
                         SIOCGIFADDR, SIOCGIFNETMASK, SIOCGIFBRDADDR, SIOCGIFMTU, SIOCGIFHWADDR});
}

// A socket of this machine leads to whoever listens there, and he may run what he is told. A pair
// of stream sockets leads nowhere else; one of datagram sockets does, by the name of any other.
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

// For the program that makes itself ready; refuse_rest() takes it back.
void allow_getting_ready(Filter& filter) {
  for (const char* const call :
       {"kill", "pidfd_send_signal", "recvmsg", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "seccomp",
        "setsid", "tgkill", "tkill", "open", "openat", "openat2", "creat"})
    filter.allow(call);
  for (const long call : {kCreateRuleset, kAddRule, kRestrictSelf})
    filter.allow(static_cast<int>(call));
}

// What a filter of all processes with the same capabilities can say. True when there was the memory.
bool open_ground(Filter& filter, const SandboxRules& rules) {
  for (const CallGroup& group : open_calls())
    if (is_open(group.opened_by, rules))
      for (const char* const name : group.names) filter.allow(name);
  allow_futex(filter);
  allow_clone(filter, rules.processes);
  allow_advice(filter);
  allow_process_control(filter, rules);
  allow_own_priority(filter);
  allow_descriptors(filter, rules);
  allow_sockets(filter, rules.network);
  allow_getting_ready(filter);
  // By descriptor alone, of what it has opened: Landlock does not look at times.
  if (rules.files_write) filter.allow("utimensat", {is_null(1)});
  for (const char* const name : calls_with_an_older_way())
    filter.answer(ENOSYS, ::seccomp_syscall_resolve_name(name));
  return !filter.no_memory();
}

// Stands for the number of the process, which is known when the filter is loaded: no process has one as
// large.
constexpr std::uint32_t kSelf = 0x7ffffff1;

// To itself, as abort() does, everybody may send signals; to others where the kernel keeps signals inside of
// the sandbox.
void refuse_signals(Filter& filter) {
  for (const char* const call : {"kill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo"})
    filter.refuse(call, {is_not(0, kSelf)});
  filter.refuse("tkill");
  filter.refuse("pidfd_send_signal");
}

// Older kernels let a file that may be read be emptied while it is opened.
void refuse_emptying(Filter& filter) {
  filter.refuse("creat");
  filter.refuse("open", {has_bits(1, O_TRUNC, O_TRUNC)});
  filter.refuse("openat", {has_bits(2, O_TRUNC, O_TRUNC)});
  // Its flags lie in memory, out of reach for a filter; libraries go on with openat().
  filter.answer(ENOSYS, ::seccomp_syscall_resolve_name("openat2"));
}

// What a process needed to get ready, and what depends on its number and on Landlock. `landlock`: the
// version that guards files already, 0 = none. The host ends this process and must stay able to.
void refuse_rest(Filter& filter, const SandboxRules& rules, long landlock) {
  for (const long call : {kCreateRuleset, kAddRule, kRestrictSelf})
    filter.answer(EPERM, static_cast<int>(call));
  filter.refuse("seccomp");
  filter.refuse("prctl", {is(0, PR_SET_PDEATHSIG)});
  if (rules.own_limits)
    filter.refuse("prlimit64", {is_not(2, 0), is_not(0, 0)});
  else
    filter.refuse("prlimit64", {is_not(2, 0)});
  if (!rules.processes) filter.refuse("setsid");
  if (!rules.processes) filter.refuse("clone", {has_bits(0, CLONE_THREAD, 0)});
  if (!rules.processes && !rules.network) filter.refuse("recvmsg");
  if (!rules.processes || landlock < kVersionScope) refuse_signals(filter);
  if (!rules.files_write && landlock < kVersionTruncate) refuse_emptying(filter);
}

// ---- privileges

// What root has beside its name. True when nothing is left.
bool drop_privileges() {
  for (int each = 0; ::prctl(PR_CAPBSET_READ, each, 0, 0, 0) >= 0; ++each)
    (void)::prctl(PR_CAPBSET_DROP, each, 0, 0, 0);  // without CAP_SETPCAP there are none to gain
  (void)::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  const __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3]{};
  return ::syscall(SYS_capset, &header, none) == 0;
}

void add(std::string& sentence, std::string_view part) {
  if (!sentence.empty()) sentence += "; ";
  sentence += part;
}

}  // namespace

Result<SandboxGround> SandboxGround::enter(const SandboxRules& rules) {
  SandboxGround out;
  out.rules_ = rules;
  if (rules.off) return out;
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
    add(out.missing_, "no_new_privs is not available: programs may gain privileges");
  out.landlock_ = landlock_version();
  if (rules.landlock_version_max != 0)
    out.landlock_ = std::min(out.landlock_, rules.landlock_version_max);
  AGENTD_TRY(out.rest_, make_rest(rules, out.landlock_));
  if (!drop_privileges()) add(out.missing_, "the privileges of this process cannot be dropped");
  Filter filter(Filter::Other::kRefused);
  if (!open_ground(filter, rules)) return Error{Code::kInternal, "no memory for the sandbox"};
  const int filtered = filter.enter();
  if (filtered == -ENOMEM) return Error{Code::kInternal, "no memory for the sandbox"};
  out.filtered_ = filtered == 0;
  return out;
}

Result<std::vector<SandboxGround::Instruction>> SandboxGround::make_rest(const SandboxRules& rules,
                                                                         long landlock) {
  Filter filter(Filter::Other::kOpen);
  refuse_rest(filter, rules, landlock);
  const std::string bytes = filter.no_memory() ? std::string() : filter.program();
  static_assert(sizeof(Instruction) == sizeof(sock_filter));
  std::vector<Instruction> out(bytes.size() / sizeof(Instruction));
  if (out.empty()) return Error{Code::kInternal, "no memory for the sandbox"};
  std::memcpy(out.data(), bytes.data(), out.size() * sizeof(Instruction));
  return out;
}

// 0, or a number of errno.
int SandboxGround::load_rest(std::vector<Instruction> program) {
  for (Instruction& each : program)
    if (each.code == (BPF_JMP | BPF_JEQ | BPF_K) && each.value == kSelf)
      each.value = static_cast<std::uint32_t>(::getpid());
  const sock_fprog all{static_cast<unsigned short>(program.size()),
                       reinterpret_cast<sock_filter*>(program.data())};
  return ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &all) == 0
             ? 0
             : errno;
}

Result<std::string> SandboxGround::finish(const SandboxRules& rules) const {
  const auto open_of = [](const SandboxRules& of) {
    return std::array{of.off,        of.network,     of.processes,
                      of.files_read, of.files_write, of.own_limits};
  };
  if (open_of(rules) != open_of(rules_) ||
      rules.landlock_version_max != rules_.landlock_version_max)
    return Error{Code::kInternal, "its sandbox was begun for other capabilities"};
  if (rules.off) return std::string("the sandbox is off: nothing is guarded");
  std::string missing = missing_;
  const bool files = landlock_ >= 1 && guard_files(rules, landlock_);
  if (!files) add(missing, "Landlock is not available: files are not guarded");
  if (files && landlock_ < kVersionTruncate && rules.files_write)
    add(missing, "Landlock is too old: files can be truncated outside of the writable directories");
  std::vector<Instruction> rest = rest_;
  if (!files && landlock_ >= 1) {
    AGENTD_TRY(rest, make_rest(rules, 0));
  }
  const int refused = filtered_ ? load_rest(std::move(rest)) : EINVAL;
  if (refused == ENOMEM) return Error{Code::kInternal, "no memory for the sandbox"};
  if (refused != 0)
    add(missing, "seccomp is not available: network, processes and signals are not guarded");
  return missing;
}

Result<std::string> enter_sandbox(const SandboxRules& rules) {
  AGENTD_TRY(const SandboxGround ground, SandboxGround::enter(rules));
  return ground.finish(rules);
}

}  // namespace agentd
