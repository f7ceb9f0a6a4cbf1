// SPDX-License-Identifier: Apache-2.0
#include "core/process/sandbox.h"

#include <fcntl.h>
#include <linux/sched.h>
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
#include <cerrno>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string_view>

#include "core/base/file.h"

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

// Numbers that the headers of this system may not have.
constexpr int kMemfdSecret = 447, kFchmodat2 = 452, kSetxattrat = 463, kRemovexattrat = 466;
constexpr std::uint64_t kIoPriorityOfProcess = 1;  // linux/ioprio.h

struct EndFilter {
  void operator()(void* filter) const { ::seccomp_release(filter); }
};

class Filter {
 public:
  Filter() : filter_(::seccomp_init(SCMP_ACT_ALLOW)) {
    // The rules bind every thread that there is, not the calling one alone.
    if (filter_) ::seccomp_attr_set(filter_.get(), SCMP_FLTATR_CTL_TSYNC, 1);
  }

  void deny(std::initializer_list<int> calls) { answer(EPERM, calls, {}); }
  // A call that this machine's libseccomp does not know does not exist here either.
  void deny_when(std::initializer_list<int> calls, std::initializer_list<scmp_arg_cmp> arguments) {
    answer(EPERM, calls, arguments);
  }
  void answer(unsigned error, std::initializer_list<int> calls,
              std::initializer_list<scmp_arg_cmp> arguments) {
    for (const int call : calls) {
      if (call < 0 || !filter_) continue;
      const int got =
          ::seccomp_rule_add_array(filter_.get(), SCMP_ACT_ERRNO(error), call,
                                   static_cast<unsigned>(arguments.size()), arguments.begin());
      if (got == -ENOMEM) no_memory_ = true;
    }
  }

  bool no_memory() const { return !filter_ || no_memory_; }
  // 0, or what failed as a negative number of errno.
  int enter() const { return ::seccomp_load(filter_.get()); }

 private:
  std::unique_ptr<void, EndFilter> filter_;
  bool no_memory_ = false;
};

scmp_arg_cmp is_not(unsigned argument, std::uint64_t value) {
  return {argument, SCMP_CMP_NE, value, 0};
}
scmp_arg_cmp has_bits(unsigned argument, std::uint64_t mask, std::uint64_t bits) {
  return {argument, SCMP_CMP_MASKED_EQ, mask, bits};
}
constexpr std::uint64_t kLowHalf = 0xffffffff;  // of an argument that the kernel reads as an int

// What nobody needs who runs one hook.
void deny_the_rest_of_the_machine(Filter& filter) {
  filter.deny({SCMP_SYS(ptrace), SCMP_SYS(process_vm_readv), SCMP_SYS(process_vm_writev),
               SCMP_SYS(process_madvise), SCMP_SYS(process_mrelease), SCMP_SYS(kcmp),
               SCMP_SYS(pidfd_getfd), SCMP_SYS(perf_event_open), SCMP_SYS(userfaultfd)});
  filter.deny({SCMP_SYS(mount), SCMP_SYS(umount), SCMP_SYS(umount2), SCMP_SYS(pivot_root),
               SCMP_SYS(chroot), SCMP_SYS(fsopen), SCMP_SYS(fsconfig), SCMP_SYS(fsmount),
               SCMP_SYS(fspick), SCMP_SYS(move_mount), SCMP_SYS(open_tree), SCMP_SYS(mount_setattr),
               SCMP_SYS(open_by_handle_at), SCMP_SYS(quotactl), SCMP_SYS(quotactl_fd),
               SCMP_SYS(swapon), SCMP_SYS(swapoff), SCMP_SYS(acct)});
  filter.deny({SCMP_SYS(bpf),
               SCMP_SYS(keyctl),
               SCMP_SYS(add_key),
               SCMP_SYS(request_key),
               SCMP_SYS(io_uring_setup),
               SCMP_SYS(io_uring_enter),
               SCMP_SYS(io_uring_register),
               SCMP_SYS(unshare),
               SCMP_SYS(setns),
               SCMP_SYS(init_module),
               SCMP_SYS(finit_module),
               SCMP_SYS(delete_module),
               SCMP_SYS(kexec_load),
               SCMP_SYS(kexec_file_load),
               SCMP_SYS(reboot),
               SCMP_SYS(syslog),
               SCMP_SYS(vhangup),
               SCMP_SYS(iopl),
               SCMP_SYS(ioperm),
               SCMP_SYS(settimeofday),
               SCMP_SYS(clock_settime),
               SCMP_SYS(clock_adjtime),
               SCMP_SYS(adjtimex),
               SCMP_SYS(sethostname),
               SCMP_SYS(setdomainname),
               SCMP_SYS(personality)});
  filter.deny_when({SCMP_SYS(ioctl)}, {has_bits(1, kLowHalf, TIOCSTI)});
}

// Memory that no limit of a process counts, that outlives it, or that others of the user share.
void deny_uncounted_memory(Filter& filter) {
  filter.deny({SCMP_SYS(memfd_create), kMemfdSecret, SCMP_SYS(shmget), SCMP_SYS(shmat),
               SCMP_SYS(shmctl), SCMP_SYS(msgget), SCMP_SYS(msgsnd), SCMP_SYS(msgrcv),
               SCMP_SYS(msgctl), SCMP_SYS(semget), SCMP_SYS(semop), SCMP_SYS(semtimedop),
               SCMP_SYS(semctl), SCMP_SYS(mq_open), SCMP_SYS(mq_unlink)});
}

// The host ends this process; it must stay able to, and the limits must stay.
void deny_escapes(Filter& filter) {
  filter.deny_when({SCMP_SYS(prctl)}, {has_bits(0, kLowHalf, PR_SET_PDEATHSIG)});
  filter.deny_when({SCMP_SYS(prctl)}, {has_bits(0, kLowHalf, PR_SET_DUMPABLE)});
  filter.deny_when({SCMP_SYS(prctl)}, {has_bits(0, kLowHalf, PR_SET_PTRACER)});
  // A descriptor that tells of its events by a signal, to anybody.
  for (const int command : {F_SETOWN, F_SETOWN_EX, F_SETSIG})
    filter.deny_when({SCMP_SYS(fcntl)}, {has_bits(1, kLowHalf, static_cast<std::uint64_t>(command))});
  for (const int command : {FIOSETOWN, SIOCSPGRP, FIOASYNC})
    filter.deny_when({SCMP_SYS(ioctl)}, {has_bits(1, kLowHalf, static_cast<std::uint64_t>(command))});
  // It would take pages from under the host.
  filter.deny_when({SCMP_SYS(madvise)}, {has_bits(2, kLowHalf, MADV_REMOVE)});
  filter.deny({SCMP_SYS(setrlimit)});
  filter.deny_when({SCMP_SYS(prlimit64)}, {is_not(2, 0)});
  for (const int flag : {CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC, CLONE_NEWUSER,
                         CLONE_NEWPID, CLONE_NEWNET}) {
    const auto bit = static_cast<std::uint64_t>(flag);
    filter.deny_when({SCMP_SYS(clone)}, {has_bits(0, bit, bit)});
  }
  // Its flags lie in memory, out of reach for a filter; the C library goes on with clone().
  filter.answer(ENOSYS, {SCMP_SYS(clone3)}, {});
}

// Who may set the priority of another process of the user can starve the host. Its own one a process
// may set, named by 0: a number could be anybody's, and a thread's number is not known here.
void deny_priorities_of_others(Filter& filter) {
  filter.deny_when({SCMP_SYS(setpriority)}, {is_not(0, PRIO_PROCESS)});
  filter.deny_when({SCMP_SYS(ioprio_set)}, {is_not(0, kIoPriorityOfProcess)});
  filter.deny_when({SCMP_SYS(setpriority), SCMP_SYS(ioprio_set)}, {is_not(1, 0)});
  filter.deny_when({SCMP_SYS(sched_setscheduler), SCMP_SYS(sched_setparam),
                    SCMP_SYS(sched_setattr), SCMP_SYS(sched_setaffinity)},
                   {is_not(0, 0)});
}

// To itself, as abort() does, everybody may.
void deny_signals(Filter& filter) {
  const auto self = static_cast<std::uint64_t>(::getpid());
  filter.deny_when(
      {SCMP_SYS(kill), SCMP_SYS(tgkill), SCMP_SYS(rt_sigqueueinfo), SCMP_SYS(rt_tgsigqueueinfo)},
      {is_not(0, self)});
  filter.deny({SCMP_SYS(tkill), SCMP_SYS(pidfd_send_signal)});
}

void deny_processes(Filter& filter) {
  filter.deny({SCMP_SYS(execve), SCMP_SYS(execveat), SCMP_SYS(fork), SCMP_SYS(vfork)});
  filter.deny_when({SCMP_SYS(clone)}, {has_bits(0, CLONE_THREAD, 0)});
}

// Landlock looks at what files hold and not at whose they are: who may write in some directories could change
// modes, owners and times everywhere. By name nobody may; by descriptor only who may write, of what it has opened.
void deny_file_changes(Filter& filter, bool files_write) {
  filter.deny({SCMP_SYS(chmod), SCMP_SYS(fchmodat), kFchmodat2, SCMP_SYS(chown), SCMP_SYS(lchown),
               SCMP_SYS(fchownat), SCMP_SYS(setxattr), SCMP_SYS(lsetxattr), kSetxattrat,
               SCMP_SYS(removexattr), SCMP_SYS(lremovexattr), kRemovexattrat, SCMP_SYS(utime),
               SCMP_SYS(utimes), SCMP_SYS(futimesat)});
  if (files_write) {
    filter.deny_when({SCMP_SYS(utimensat)}, {is_not(1, 0)});
    return;
  }
  filter.deny({SCMP_SYS(truncate), SCMP_SYS(fchmod), SCMP_SYS(fchown), SCMP_SYS(fsetxattr),
               SCMP_SYS(fremovexattr), SCMP_SYS(utimensat)});
}

// Older kernels let a file that may be read be emptied while it is opened.
void deny_emptying(Filter& filter) {
  filter.deny_when({SCMP_SYS(open)}, {has_bits(1, O_TRUNC, O_TRUNC)});
  filter.deny_when({SCMP_SYS(openat)}, {has_bits(2, O_TRUNC, O_TRUNC)});
  filter.deny({SCMP_SYS(creat)});
  filter.answer(ENOSYS, {SCMP_SYS(openat2)}, {});  // its flags lie in memory
}

// A socket of this machine leads to whoever listens there, and he may run what he is told.
void deny_local_sockets(Filter& filter) {
  constexpr std::uint64_t kDomainsMax = 64;
  for (std::uint64_t domain = 0; domain < kDomainsMax; ++domain)
    if (domain != AF_INET && domain != AF_INET6 && domain != AF_NETLINK)
      filter.deny_when({SCMP_SYS(socket)}, {has_bits(0, kLowHalf, domain)});
}

// 0, or a negative number of errno; -ENOMEM when the rules could not be made. `landlock`: the
// version that guards files already, 0 = none.
int filter_calls(const SandboxRules& rules, long landlock) {
  const bool signals_are_kept_inside = landlock >= kVersionScope;
  Filter filter;
  deny_the_rest_of_the_machine(filter);
  deny_uncounted_memory(filter);
  deny_escapes(filter);
  deny_priorities_of_others(filter);
  if (!rules.processes || !signals_are_kept_inside) deny_signals(filter);
  if (!rules.processes) deny_processes(filter);
  if (rules.network)
    deny_local_sockets(filter);
  else
    filter.deny({SCMP_SYS(socket)});
  deny_file_changes(filter, rules.files_write);
  if (!rules.files_write && landlock < kVersionTruncate) deny_emptying(filter);
  return filter.no_memory() ? -ENOMEM : filter.enter();
}

void add(std::string& sentence, std::string_view part) {
  if (!sentence.empty()) sentence += "; ";
  sentence += part;
}

}  // namespace

Result<std::string> enter_sandbox(const SandboxRules& rules) {
  if (rules.off) return std::string("the sandbox is off: nothing is guarded");
  std::string missing;
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
    add(missing, "no_new_privs is not available: programs may gain privileges");
  long version = landlock_version();
  if (rules.landlock_version_max != 0) version = std::min(version, rules.landlock_version_max);
  const bool files = version >= 1 && guard_files(rules, version);
  if (!files) add(missing, "Landlock is not available: files are not guarded");
  if (files && version < kVersionTruncate && rules.files_write)
    add(missing, "Landlock is too old: files can be truncated outside of the writable directories");
  const int filtered = filter_calls(rules, files ? version : 0);
  if (filtered == -ENOMEM) return Error{Code::kInternal, "no memory for the sandbox"};
  if (filtered != 0)
    add(missing, "seccomp is not available: network, processes and signals are not guarded");
  return missing;
}

}  // namespace agentd
