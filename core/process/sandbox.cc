// SPDX-License-Identifier: Apache-2.0
#include "core/process/sandbox.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <string_view>

#include "core/base/file.h"
#include "core/process/sandbox_programs.h"

namespace agentd {
namespace {

// ---- Landlock. The numbers of linux/landlock.h, which older systems have only in part.

constexpr long kCreateRuleset = 444, kAddRule = 445, kRestrictSelf = 446;
constexpr std::uint32_t kAskVersion = 1, kPathBeneath = 1;

constexpr std::uint64_t kExecute = 1u << 0, kWriteFile = 1u << 1, kReadFile = 1u << 2, kReadDirectory = 1u << 3,
                        kRemoveDirectory = 1u << 4, kRemoveFile = 1u << 5, kMakeDirectory = 1u << 7,
                        kMakeRegular = 1u << 8, kMakeSocket = 1u << 9, kMakeFifo = 1u << 10, kMakeLink = 1u << 12,
                        kRefer = 1u << 13, kTruncate = 1u << 14, kDeviceControl = 1u << 15;
constexpr std::uint64_t kNetBind = 1u << 0, kNetConnect = 1u << 1;
constexpr std::uint64_t kScopeAbstractSocket = 1u << 0, kScopeSignal = 1u << 1;
constexpr long kVersionNet = 4;

constexpr std::uint64_t kToRead = kExecute | kReadFile | kReadDirectory;
// Writing includes listing a directory: a process that creates a file syncs its directory.
constexpr std::uint64_t kToWrite = kWriteFile | kReadDirectory | kRemoveDirectory | kRemoveFile | kMakeDirectory |
                                   kMakeRegular | kMakeSocket | kMakeFifo | kMakeLink | kRefer | kTruncate;
constexpr std::uint64_t kOfFiles = kExecute | kWriteFile | kReadFile | kTruncate | kDeviceControl;

struct RulesetAttributes {
  std::uint64_t files, net, scopes;
};
struct [[gnu::packed]] PathAttributes {
  std::uint64_t allowed;
  std::int32_t fd;
};

// Files that every program needs to find its libraries, its time zone and itself.
constexpr const char* kAlwaysReadable[] = {
    "/usr",         "/lib",     "/lib64", "/bin", "/etc/ld.so.cache", "/etc/localtime", "/etc/nsswitch.conf",
    "/dev/urandom", "/dev/zero"};

long landlock_version() { return ::syscall(kCreateRuleset, nullptr, 0, kAskVersion); }

std::uint64_t file_rights(long version) {
  std::uint64_t rights = (1u << 13) - 1;
  if (version >= 2) rights |= kRefer;
  if (version >= kLandlockGuardsEmptying) rights |= kTruncate;
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
    if (version >= kLandlockGuardsSignals) {
      attributes.scopes = kScopeSignal | (rules.network ? 0 : kScopeAbstractSocket);
      bytes += sizeof attributes.scopes;
    }
    ruleset_ = UniqueFd(static_cast<int>(::syscall(kCreateRuleset, &attributes, bytes, 0)));
  }

  // A missing path needs no rule.
  void allow(const std::string& path, std::uint64_t rights) {
    const UniqueFd fd(::open(path.c_str(), O_PATH | O_CLOEXEC));
    if (fd.valid()) allow(fd.get(), rights);
  }
  void allow(int fd, std::uint64_t rights) {
    struct stat info {};
    if (::fstat(fd, &info) != 0) return;
    if (!S_ISDIR(info.st_mode)) rights &= kOfFiles;
    const PathAttributes attributes{rights & rights_, fd};
    // A memory file is in no tree that a rule could name: the call fails, and the file is open without one.
    ::syscall(kAddRule, ruleset_.get(), kPathBeneath, &attributes, 0);
  }

  bool enter() const { return ruleset_.valid() && ::syscall(kRestrictSelf, ruleset_.get(), 0) == 0; }

 private:
  const std::uint64_t rights_;
  UniqueFd ruleset_;
};

// Paths that only this process can open, or only it may.
void allow_own(Landlock& landlock, const SandboxRules& rules) {
  landlock.allow("/proc/self", kToRead);
  for (const int fd : rules.reopened) landlock.allow(fd, kReadFile);
  if (rules.files_read)
    for (const std::string& path : rules.readable) landlock.allow(path, kToRead);
  if (rules.files_write)
    for (const std::string& path : rules.writable) landlock.allow(path, kToWrite | (rules.files_read ? kToRead : 0));
}

// ---- seccomp

OpenedCalls opened_by(const SandboxRules& rules) {
  return {rules.network, rules.processes, rules.files_read, rules.files_write, rules.own_limits};
}

// Loads the filter for all threads. Returns 0 or an errno.
int load(FilterProgram program) {
  static_assert(sizeof(FilterInstruction) == sizeof(sock_filter));
  // The kernel only reads it.
  const sock_fprog all{static_cast<unsigned short>(program.size()),
                       const_cast<sock_filter*>(reinterpret_cast<const sock_filter*>(program.data()))};
  const long loaded = ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &all);
  return loaded == 0 ? 0 : errno;
}

int load_for_self(FilterProgram program) {
  std::vector<FilterInstruction> own(program.begin(), program.end());
  for (FilterInstruction& each : own)
    if (each.code == (BPF_JMP | BPF_JEQ | BPF_K) && each.value == kSelfNumber)
      each.value = static_cast<std::uint32_t>(::getpid());
  return load(own);
}

// ---- privileges

// Drops root's capabilities. True when none is left.
bool drop_privileges() {
  for (int each = 0; ::prctl(PR_CAPBSET_READ, each, 0, 0, 0) >= 0; ++each)
    (void)::prctl(PR_CAPBSET_DROP, each, 0, 0, 0);  // without CAP_SETPCAP none can be gained either
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
  if (rules.landlock_version_max != 0) out.landlock_ = std::min(out.landlock_, rules.landlock_version_max);
  if (out.landlock_ >= 1) {
    for (const char* const path : kAlwaysReadable) out.hold(path, kToRead);
    out.hold("/dev/null", kReadFile | kWriteFile);
  }
  if (!drop_privileges()) add(out.missing_, "the privileges of this process cannot be dropped");
  const int refused = load(ground_program(opened_by(rules)));
  if (refused == ENOMEM) return Error{Code::kInternal, "no memory for the sandbox"};
  out.filtered_ = refused == 0;
  return out;
}

void SandboxGround::hold(const char* path, std::uint64_t rights) {
  const UniqueFd opened(::open(path, O_PATH | O_CLOEXEC));
  held_.push_back({path, rights, UniqueFd(::fcntl(opened.get(), F_DUPFD_CLOEXEC, kFirstHeldFd))});
}

// True if files are guarded. Releases the descriptors that were held for it.
bool SandboxGround::guard_files(const SandboxRules& rules) {
  if (landlock_ < 1) return false;
  Landlock landlock(rules, landlock_);
  for (const HeldPath& each : held_) {
    if (each.fd.valid())
      landlock.allow(each.fd.get(), each.rights);
    else
      landlock.allow(each.path, each.rights);
  }
  held_.clear();
  allow_own(landlock, rules);
  return landlock.enter();
}

Result<std::string> SandboxGround::finish(const SandboxRules& rules) {
  // Without a sandbox capabilities open nothing.
  if (rules.off && rules_.off) return std::string("the sandbox is off: nothing is guarded");
  const auto open_of = [](const SandboxRules& of) {
    return std::array{of.off, of.network, of.processes, of.files_read, of.files_write, of.own_limits};
  };
  if (open_of(rules) != open_of(rules_) || rules.landlock_version_max != rules_.landlock_version_max)
    return Error{Code::kInternal, "the sandbox was begun for other capabilities"};
  std::string missing = missing_;
  const bool files = guard_files(rules);
  if (!files) add(missing, "Landlock is not available: files are not guarded");
  if (files && landlock_ < kLandlockGuardsEmptying && rules.files_write)
    add(missing, "Landlock is too old: files can be truncated outside of the writable directories");
  const FilterProgram rest = rest_program(opened_by(rules), files ? landlock_ : 0);
  const int refused = filtered_ ? load_for_self(rest) : EINVAL;
  if (refused == ENOMEM) return Error{Code::kInternal, "no memory for the sandbox"};
  if (refused != 0) add(missing, "seccomp is not available: network, processes and signals are not guarded");
  return missing;
}

Result<std::string> enter_sandbox(const SandboxRules& rules) {
  AGENTD_TRY(SandboxGround ground, SandboxGround::enter(rules));
  return ground.finish(rules);
}

}  // namespace agentd
