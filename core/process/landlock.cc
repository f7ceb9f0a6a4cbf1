// SPDX-License-Identifier: Apache-2.0
#include "core/process/landlock.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "core/process/sandbox_programs.h"

namespace agentd {
namespace {

using namespace landlock;

constexpr long kCreateRuleset = 444, kAddRule = 445, kRestrictSelf = 446;
constexpr std::uint32_t kAskVersion = 1, kPathBeneath = 1;
constexpr std::uint64_t kOfFiles = kExecute | kWriteFile | kReadFile | kTruncate | kDeviceControl;

struct RulesetAttributes {
  std::uint64_t files, net, scopes;
};
struct [[gnu::packed]] PathAttributes {
  std::uint64_t allowed;
  std::int32_t fd;
};

std::uint64_t file_rights(long version) {
  std::uint64_t rights = (1u << 13) - 1;
  if (version >= 2) rights |= kRefer;
  if (version >= kLandlockGuardsEmptying) rights |= kTruncate;
  if (version >= 5) rights |= kDeviceControl;
  return rights;
}

}  // namespace

long landlock_version() { return std::max(0L, ::syscall(kCreateRuleset, nullptr, 0, kAskVersion)); }

Landlock::Landlock(long version, std::uint64_t net, std::uint64_t scopes) : rights_(file_rights(version)) {
  RulesetAttributes attributes{rights_, 0, 0};
  std::size_t bytes = sizeof attributes.files;
  if (version >= kVersionNet) {
    attributes.net = net;
    bytes += sizeof attributes.net;
  }
  if (version >= kLandlockGuardsSignals) {
    attributes.scopes = scopes;
    bytes += sizeof attributes.scopes;
  }
  ruleset_ = UniqueFd(static_cast<int>(::syscall(kCreateRuleset, &attributes, bytes, 0)));
}

void Landlock::allow(const std::string& path, std::uint64_t rights) {
  const UniqueFd fd(::open(path.c_str(), O_PATH | O_CLOEXEC));
  if (fd.valid()) allow(fd.get(), rights);
}

void Landlock::allow(int fd, std::uint64_t rights) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) return;
  if (!S_ISDIR(info.st_mode)) rights &= kOfFiles;
  const PathAttributes attributes{rights & rights_, fd};
  // A memory file is in no tree that a rule could name: the call fails, and the file is open without one.
  ::syscall(kAddRule, ruleset_.get(), kPathBeneath, &attributes, 0);
}

bool Landlock::enter() const { return ruleset_.valid() && ::syscall(kRestrictSelf, ruleset_.get(), 0) == 0; }

}  // namespace agentd
