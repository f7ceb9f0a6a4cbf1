// SPDX-License-Identifier: Apache-2.0
#include "core/process/sandbox.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <string_view>

#include "core/base/file.h"
#include "core/process/confine.h"
#include "core/process/landlock.h"
#include "core/process/sandbox_programs.h"

namespace agentd {
namespace {

// ---- Landlock

using landlock::kReadFile, landlock::kToRead, landlock::kToWrite, landlock::kWriteFile;

// Files that every program needs to find its libraries, its time zone and itself.
constexpr const char* kAlwaysReadable[] = {
    "/usr",         "/lib",     "/lib64", "/bin", "/etc/ld.so.cache", "/etc/localtime", "/etc/nsswitch.conf",
    "/dev/urandom", "/dev/zero"};

// Files by which names are resolved and certificates are checked.
constexpr const char* kReadableForNetwork[] = {"/etc/resolv.conf",     "/etc/hosts",    "/etc/host.conf",
                                               "/etc/gai.conf",        "/etc/services", "/etc/ssl",
                                               "/etc/ca-certificates", "/etc/pki"};

Landlock landlock_of(const SandboxRules& rules, long version) {
  return {version, rules.network ? 0 : landlock::kNetBind | landlock::kNetConnect,
          landlock::kScopeSignal | (rules.network ? 0 : landlock::kScopeAbstractSocket)};
}

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

int load_for_self(FilterProgram program) {
  std::vector<FilterInstruction> own(program.begin(), program.end());
  for (FilterInstruction& each : own)
    if (each.code == (BPF_JMP | BPF_JEQ | BPF_K) && each.value == kSelfNumber)
      each.value = static_cast<std::uint32_t>(::getpid());
  return load_filter(own);
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
    for (const char* const path : kReadableForNetwork)
      if (rules.network) out.hold(path, kToRead);
    out.hold("/dev/null", kReadFile | kWriteFile);
  }
  if (!drop_privileges()) add(out.missing_, "the privileges of this process cannot be dropped");
  const int refused = load_filter(ground_program(opened_by(rules)));
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
  Landlock landlock = landlock_of(rules, landlock_);
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
