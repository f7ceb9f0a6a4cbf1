// SPDX-License-Identifier: Apache-2.0
#include "core/cage/confinement.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/base/file.h"
#include "core/process/confine.h"
#include "core/process/landlock.h"

namespace agentd::cage {
namespace {

using Sockets = CagedCalls::Sockets;

void limit(__rlimit_resource_t which, std::uint64_t most) {
  rlimit now{};
  if (::getrlimit(which, &now) != 0) return;
  now.rlim_cur = std::min<rlim_t>(now.rlim_cur, most);
  now.rlim_max = std::min<rlim_t>(now.rlim_max, most);
  ::setrlimit(which, &now);
}

void set_limits(const Orders& orders) {
  limit(RLIMIT_CORE, 0);
  if (orders.processes_max != 0) limit(RLIMIT_NPROC, orders.processes_max);
  if (orders.file_bytes_max != 0) limit(RLIMIT_FSIZE, orders.file_bytes_max);
}

// Rules are made of the descriptor that was compared. A missing path needs none, unless it was noted.
Result<void> allow(Landlock& guard, const Orders& orders, const std::string& path, std::uint64_t rights) {
  const UniqueFd place(::open(path.c_str(), O_PATH | O_CLOEXEC));
  struct stat info {};
  const bool there = place.valid() && ::fstat(place.get(), &info) == 0;
  for (const Noted& note : orders.noted)
    if (note.path == path && note.as != Noted::As::kEmpty && !(there && identity_of(info) == note.identity))
      return Error{Code::kUnavailable, exchanged_text(path)};
  if (there) guard.allow(place.get(), rights);
  return {};
}

Result<void> guard_files(const Orders& orders, long version) {
  using namespace landlock;
  // A network namespace of its own has only what is inside.
  const std::uint64_t net = orders.apart || orders.sockets == Sockets::kAll ? 0 : kNetBind | kNetConnect;
  Landlock guard(version, net, kScopeSignal | kScopeAbstractSocket);
  for (const std::string& path : orders.readable) AGENTD_TRY_VOID(allow(guard, orders, path, kToRead));
  for (const std::string& path : orders.writable) AGENTD_TRY_VOID(allow(guard, orders, path, kToRead | kToWrite));
  for (const std::string& path : orders.devices)
    guard.allow(path, kReadFile | kReadDirectory | kWriteFile | kDeviceControl |
                          (orders.apart ? kMakeRegular | kRemoveFile | kTruncate : 0));
  if (guard.enter()) return {};
  return Error{Code::kUnavailable, "Landlock refuses the sandbox: " + std::string(std::strerror(errno))};
}

}  // namespace

Result<UniqueFd> confine(const Orders& orders) {
  set_limits(orders);
  if (!orders.confines) return UniqueFd();
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || !drop_privileges())
    return Error{Code::kUnavailable, "the privileges of the command cannot be dropped"};
  const long version = landlock_version();
  if (version < 1 && !orders.apart) return Error{Code::kUnavailable, "this kernel has no Landlock"};
  if (version >= 1) AGENTD_TRY_VOID(guard_files(orders, version));
  const FilterProgram program = caged_program({.apart = orders.apart,
                                               .local_sockets = orders.local_sockets,
                                               .sockets = orders.sockets,
                                               .guards_emptying = version >= kLandlockGuardsEmptying});
  UniqueFd questions;
  const int refused = load_asking_filter(program, &questions);
  if (refused == 0) return questions;
  return Error{Code::kUnavailable, "seccomp refuses the sandbox: " + std::string(std::strerror(refused))};
}

}  // namespace agentd::cage
