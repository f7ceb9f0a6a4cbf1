// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/private_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <utility>

#include "core/base/bytes.h"
#include "core/base/shell_word.h"

namespace agentd {
namespace {

std::string mode_text(mode_t mode) {
  char text[8];
  std::snprintf(text, sizeof text, "%04o", static_cast<unsigned>(mode & 07777));
  return text;
}

Error denied(std::string text) { return {Code::kDenied, std::move(text)}; }

Error foreign(const std::string& path, uid_t owner, const PrivateThings& things) {
  return denied(path + " belongs to another user (uid " + std::to_string(owner) + "), and no " +
                std::string(things.one) + " is read from it or written to it: chown it to yourself");
}

Error is_link(const std::string& path, const PrivateThings& things) {
  return denied(path + " is a symbolic link, and no " + std::string(things.one) +
                " is read through it or written through it: replace it with what it points to");
}

bool is_symbolic(const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0 && S_ISLNK(info.st_mode);
}

}  // namespace

Result<UniqueFd> open_private_directory(const std::string& home, const PrivateThings& things) {
  const int no_link = things.links ? 0 : O_NOFOLLOW;
  UniqueFd fd(::open(home.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | no_link));
  const int error_number = errno;
  if (!fd.valid() && no_link != 0 && (error_number == ELOOP || error_number == ENOTDIR) && is_symbolic(home))
    return is_link(home, things);
  if (!fd.valid()) return errno_error("opening the directory " + home, error_number);
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) return errno_error("checking the directory " + home, errno);
  if (info.st_uid != ::geteuid() && info.st_uid != 0) return foreign(home, info.st_uid, things);
  if ((info.st_mode & 022) != 0)
    return denied(home + " is writable by others (mode " + mode_text(info.st_mode) + "), who could replace the " +
                  std::string(things.many) + ": chmod go-w " + shell_word(home));
  return fd;
}

Result<void> lock_directory(const UniqueFd& directory, const std::string& home) {
  while (::flock(directory.get(), LOCK_EX) != 0)
    if (errno != EINTR) return errno_error("locking " + home, errno);
  return {};
}

Result<std::optional<PrivateFile>> open_private(int directory, const char* name, const std::string& path,
                                                const PrivateThings& things) {
  PrivateFile out;
  out.fd = UniqueFd(::openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
  if (!out.fd.valid() && errno == ENOENT) return std::optional<PrivateFile>();
  if (!out.fd.valid() && errno == ELOOP) return is_link(path, things);
  if (!out.fd.valid()) return errno_error("reading " + path, errno);
  struct stat info {};
  if (::fstat(out.fd.get(), &info) != 0) return errno_error("reading " + path, errno);
  if (!S_ISREG(info.st_mode)) return denied(path + " is not a regular file: move it away");
  if (info.st_uid != ::geteuid()) return foreign(path, info.st_uid, things);
  if ((info.st_mode & 077) != 0)
    return denied(path + " is accessible to others (mode " + mode_text(info.st_mode) +
                  "), who may have read it: chmod 600 " + shell_word(path) + ", and replace the " +
                  std::string(things.many));
  out.size = static_cast<std::size_t>(info.st_size);
  if (out.size > kPrivateBytesMax)
    return Error{Code::kCorrupt, path + " has more than " + with_commas(kPrivateBytesMax) +
                                     " bytes: it was not written by agentd; move it away"};
  return std::optional(std::move(out));
}

}  // namespace agentd
