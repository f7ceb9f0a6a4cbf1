// SPDX-License-Identifier: Apache-2.0
#include "core/process/beneath.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace agentd {
namespace {

// RESOLVE_BENEATH returns EAGAIN when any rename raced with a "..": retry, but not for ever.
constexpr int kTries = 1'000;

int openat2(int directory, const char* path, const open_how& how) {
  return static_cast<int>(::syscall(SYS_openat2, directory, path, &how, sizeof how));
}

Error no_openat2() {
  return {Code::kUnavailable,
          "files cannot be confined to the workspace: openat2 is missing; it needs Linux 5.6 and no "
          "sandbox that forbids it"};
}

Error open_error(int error_number, const std::string& shown) {
  if (error_number == EXDEV) return {Code::kDenied, shown + " leads out of the workspace"};
  if (error_number == ENOSYS) return no_openat2();
  if (error_number == ELOOP) return {Code::kDenied, shown + " contains a symbolic link that is not followed"};
  if (error_number == EAGAIN) return {Code::kBusy, shown + " is being renamed by another process; try again"};
  if (error_number == ENXIO) return {Code::kInvalid, shown + " is not a regular file"};
  return errno_error("opening " + shown, error_number);
}

}  // namespace

Result<UniqueFd> open_beneath(int directory, const std::string& path, const OpenOptions& options,
                              const std::string& shown) {
  open_how how{};
  how.flags = options.flags | O_CLOEXEC;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  if (!options.follow_links) how.resolve |= RESOLVE_NO_SYMLINKS;
  for (int tries = 0; tries < kTries; ++tries) {
    UniqueFd fd(openat2(directory, path.c_str(), how));
    if (fd.valid()) return fd;
    if (errno != EAGAIN && errno != EINTR) break;
  }
  return open_error(errno, shown);
}

Result<void> check_openat2() {
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC;
  const UniqueFd fd(openat2(AT_FDCWD, "/", how));
  if (!fd.valid()) return no_openat2();
  return {};
}

}  // namespace agentd
