// SPDX-License-Identifier: Apache-2.0
#include "core/store/lmdb/lease.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string_view>

#include "core/base/file.h"

namespace agentd {
namespace {

class FileLease final : public Lease {
 public:
  FileLease(UniqueFd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}
  // Unlinks while it still holds the lock: a process that opened the file before sees, once it gets the lock, that the
  // name was removed, and starts again.
  ~FileLease() override { ::unlink(path_.c_str()); }

 private:
  const UniqueFd fd_;
  const std::string path_;
};

Result<UniqueFd> open_lock_file(const std::string& directory, const std::string& path) {
  for (int attempt = 0;; ++attempt) {
    UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (fd.valid()) return fd;
    const int error = errno;
    if (error != ENOENT || attempt > 0) return errno_error("opening the lock " + path, error);
    if (::mkdir((directory + "/leases").c_str(), 0700) != 0 && errno != EEXIST)
      return errno_error("creating the directory " + directory + "/leases", errno);
  }
}

Error busy(const Ulid& conversation, int fd) {
  std::array<char, 16> text{};
  const ssize_t got = ::pread(fd, text.data(), text.size(), 0);
  std::string_view pid(text.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
  pid = pid.substr(0, pid.find('\n'));
  if (pid == std::to_string(::getpid()))  // such as the daemon, asked by another client
    return {Code::kBusy, "conversation " + conversation.text() +
                             " is in use: another client works in it; try again when that has ended"};
  const bool number = !pid.empty() && pid.find_first_not_of("0123456789") == std::string_view::npos;
  return {Code::kBusy, "conversation " + conversation.text() + " is in use by " +
                           (number ? "process " + std::string(pid) : "another process") +
                           ": try again when it has ended"};
}

bool still_named(int fd, const std::string& path) {
  struct stat held {
  }, named{};
  return ::fstat(fd, &held) == 0 && ::stat(path.c_str(), &named) == 0 && held.st_ino == named.st_ino &&
         held.st_dev == named.st_dev;
}

Result<void> write_pid(int fd, const std::string& path) {
  const std::string text = std::to_string(::getpid()) + "\n";
  if (::pwrite(fd, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()) ||
      ::ftruncate(fd, static_cast<off_t>(text.size())) != 0)
    return errno_error("writing the lock " + path, errno);
  return {};
}

}  // namespace

Result<std::unique_ptr<Lease>> take_lease(const std::string& directory, const Ulid& conversation) {
  const std::string path = directory + "/leases/" + conversation.text() + ".lock";
  for (;;) {
    AGENTD_TRY(UniqueFd fd, open_lock_file(directory, path));
    struct flock lock {};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    if (::fcntl(fd.get(), F_OFD_SETLK, &lock) != 0) {
      if (errno == EAGAIN || errno == EACCES) return busy(conversation, fd.get());
      return errno_error("locking " + path, errno);
    }
    if (!still_named(fd.get(), path)) continue;
    // The pid is only informative; on a full disk the lock works without it.
    if (auto wrote = write_pid(fd.get(), path); !wrote && wrote.error().code != Code::kUnavailable)
      return wrote.error();
    return std::unique_ptr<Lease>(std::make_unique<FileLease>(std::move(fd), path));
  }
}

}  // namespace agentd
